// What a thread stuck in the kernel, or storage that never answers, may still write to.
#pragma once

#include <memory>

namespace penstock {

/// Keeps `state` until the process ends: there is nobody left who could free it safely. Any thread.
void leak_until_exit(std::shared_ptr<void> state);

}  // namespace penstock
