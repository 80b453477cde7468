#include <algorithm>
#include <cerrno>

#include <penstock/error.hpp>
#include <storage/uring/uring_ring.hpp>

namespace penstock {

int try_ring(unsigned in_flight, io_uring& ring) {
  // Linux 6.1 supports the first line, 5.19 the second and 5.5 the third. Older kernels return EINVAL.
  constexpr unsigned kFlags[] = {
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE,
      IORING_SETUP_CQSIZE,
  };
  int result = 0;
  for (const unsigned flags : kFlags) {
    io_uring_params params{};
    params.flags = flags;
    params.cq_entries = 2 * in_flight;
    result = io_uring_queue_init_params(std::min(in_flight, 256u), &ring, &params);
    if (result != -EINVAL) break;
  }
  return result < 0 ? -result : 0;
}

UringRing::UringRing(unsigned in_flight) {
  if (const int refusal = try_ring(in_flight, ring_); refusal != 0) throw Error::io(refusal, "io_uring_setup");
}

io_uring_sqe* UringRing::entry() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  while (sqe == nullptr) {
    io_uring_submit(&ring_);
    sqe = io_uring_get_sqe(&ring_);
  }
  return sqe;
}

}  // namespace penstock
