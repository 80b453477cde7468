// Tells whether this system lets a process use io_uring.
#pragma once

namespace penstock {

/// 0 when a ring can be set up here, otherwise the errno of the refusal; ENOSYS when built without liburing.
int uring_refusal();

}  // namespace penstock
