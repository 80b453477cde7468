// Measures the most memory that a run took.
#pragma once

#include <cstdint>

namespace penstock {

/// Peak resident memory of this process since the last forget_peak_memory(), or since its start where the kernel has no
/// way to forget; 0 when it does not tell.
std::uint64_t peak_memory_bytes();
void forget_peak_memory();

}  // namespace penstock
