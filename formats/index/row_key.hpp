// Makes the key of a sample that has only a row number.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// Returns `row` with leading zeros, so that the keys of all `count` rows are in bytewise order.
inline std::string row_key(std::uint64_t row, std::uint64_t count) {
  const std::size_t width = std::to_string(count - 1).size();
  const std::string number = std::to_string(row);
  return std::string(width - number.size(), '0') + number;
}

}  // namespace penstock
