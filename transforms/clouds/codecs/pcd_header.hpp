// Reads the header of a PCD file: fields, their types and how the points are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/schema.hpp>

namespace penstock {

struct PcdField {
  std::string name;
  DType dtype;
  std::uint32_t count = 1;  ///< numbers per point
  std::uint32_t bytes() const { return count * static_cast<std::uint32_t>(size_of(dtype)); }
};

struct PcdHeader {
  enum class Encoding : std::uint8_t { ascii, binary, compressed } encoding = Encoding::ascii;
  std::vector<PcdField> fields;
  std::optional<std::uint64_t> points;  ///< nothing if the header has neither POINTS nor WIDTH
  std::size_t data_begin = 0;           ///< length of the header, including its last line end
  std::uint64_t data_line = 0;          ///< number of the first line after the header

  std::uint64_t record_bytes() const;  ///< length of a point's record, with padding
};

bool is_pcd(std::span<const std::byte> bytes);

/// The header must contain FIELDS (or COLUMNS) and DATA. Defaults are SIZE 4, TYPE F, COUNT 1 and HEIGHT 1. Throws
/// Error: corrupt (also if POINTS differs from WIDTH times HEIGHT), unsupported (an unknown type, more than 4,096
/// numbers a point).
/// Source: Point Cloud Library, "The PCD (Point Cloud Data) file format", versions 0.5 to 0.7.
PcdHeader read_pcd_header(std::span<const std::byte> bytes);

}  // namespace penstock
