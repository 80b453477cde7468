// Keeps objects alive until the process exits, because a thread that hangs in a system call may still write to them.
#pragma once

#include <memory>

namespace penstock {

/// Keeps `state` until the process ends: no remaining thread could free it safely. Thread-safe.
void leak_until_exit(std::shared_ptr<void> state);

}  // namespace penstock
