// Arrays whose rows are too long to be handed out as copies.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/loading.hpp"

namespace penstock::test {

inline constexpr std::int64_t kLongRow = 100;  // float32

/// As write_arrays(), with rows of kLongRow: the three numbers, then zeros.
inline void write_long_arrays(const std::filesystem::path& folder, std::uint64_t count) {
  write_arrays(folder, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    std::vector<float> row(kLongRow, 0.0F);
    row[0] = value, row[1] = value * value, row[2] = -value;
    write_file(folder / (number_key(i) + ".npy"), npy_file(row, "(" + std::to_string(kLongRow) + ",)"));
  }
}

}  // namespace penstock::test
