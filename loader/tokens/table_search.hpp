// Searches tables of numbers that rise.
#pragma once

#include <algorithm>
#include <cstdint>

#include <penstock/formats/views/number_table.hpp>

namespace penstock {

/// The first place of [first, end) whose number is above `value`; `end` where there is none.
inline std::uint64_t first_above(const NumberTable& table, std::uint64_t value, std::uint64_t first,
                                 std::uint64_t end) {
  const auto in = [&](auto numbers) {
    const auto part = numbers.subspan(first, end - first);
    return first + static_cast<std::uint64_t>(std::upper_bound(part.begin(), part.end(), value) - part.begin());
  };
  return table.wide() ? in(table.longs()) : in(table.shorts());
}

inline std::uint64_t first_above(const NumberTable& table, std::uint64_t value) {
  return first_above(table, value, 0, table.size());
}

}  // namespace penstock
