// Checks whether this system allows a process to use io_uring.
#pragma once

namespace penstock {

/// Returns 0 if a ring can be set up, otherwise the errno of the refusal; ENOPKG if built without liburing.
int uring_refusal();

}  // namespace penstock
