// Sorts many numbers by their upper halves, with a radix sort.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

/// Sorts by the upper 32 bits, in falling order; equal ones keep their order. Needs memory for as many numbers again. A
/// radix sort from the lowest digit on.
void sort_by_upper_half(std::vector<std::uint64_t>& numbers);

}  // namespace penstock
