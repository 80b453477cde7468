// Searches tables of numbers that rise.
#pragma once

#include <cstdint>

#include <penstock/formats/views/shared_numbers.hpp>

namespace penstock {

/// The first place of [first, end) whose number is above `value`; `end` where there is none.
inline std::uint64_t first_above(const SharedNumbers& table, std::uint64_t value, std::uint64_t first,
                                 std::uint64_t end) {
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (table[middle] > value) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

}  // namespace penstock
