// A ring, set up with the best flags that the kernel takes.
#pragma once

#include <liburing.h>

namespace penstock {

/// Must be used, and destroyed, by the thread that made it.
class UringRing {
 public:
  /// A ring for `in_flight` operations. Throws Error: io, with the errno of io_uring_setup.
  explicit UringRing(unsigned in_flight);
  ~UringRing() { io_uring_queue_exit(&ring_); }
  UringRing(UringRing&&) = delete;

  io_uring* get() { return &ring_; }
  /// An empty entry. Submits what is queued when there is no room.
  io_uring_sqe* entry();

 private:
  io_uring ring_{};
};

/// 0 when a ring can be set up here, otherwise the errno of the refusal.
int try_ring(unsigned in_flight, io_uring& ring);

}  // namespace penstock
