// How long to wait before something is tried again.
#pragma once

#include <chrono>

namespace penstock {

/// Twice as long with each failure, from 0.1 s to 20 s, of which a random half is taken off so that many clients do not
/// come back together. `failures` is 1 or more. Any thread.
std::chrono::milliseconds backoff(unsigned failures);

}  // namespace penstock
