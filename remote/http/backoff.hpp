// Delay before a retry.
#pragma once

#include <chrono>

namespace penstock {

/// Doubles with each failure, from 0.1 s to 20 s. Subtracts a random part of up to one half, so that many clients do
/// not retry at the same moment. `failures` is at least 1. Thread-safe.
std::chrono::milliseconds backoff(unsigned failures);

}  // namespace penstock
