// Sorts many numbers by their upper halves, in passes over all of them.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// By the upper 32 bits, falling; equal ones stay in their order. Takes room for as many numbers again. A radix sort
/// from the lowest digit on.
void sort_by_upper_half(std::vector<std::uint64_t>& numbers);

}  // namespace penstock
