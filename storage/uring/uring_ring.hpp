// A ring, set up with the best flags that the kernel supports.
#pragma once

#include <liburing.h>

namespace penstock {

/// One thread must make, use and destroy it.
class UringRing {
 public:
  /// Sets up a ring for `in_flight` operations. Throws Error: io, with the errno of io_uring_setup.
  explicit UringRing(unsigned in_flight);
  ~UringRing() { io_uring_queue_exit(&ring_); }
  UringRing(UringRing&&) = delete;

  io_uring* get() { return &ring_; }
  /// Returns an empty entry. Submits the queued entries first if there is no room.
  io_uring_sqe* entry();

 private:
  io_uring ring_{};
};

/// Returns 0 if a ring can be set up, otherwise the errno of the refusal.
int try_ring(unsigned in_flight, io_uring& ring);

}  // namespace penstock
