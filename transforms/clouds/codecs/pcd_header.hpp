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
  std::uint32_t count = 1;  ///< numbers of each point
  std::uint32_t bytes() const { return count * static_cast<std::uint32_t>(size_of(dtype)); }
};

struct PcdHeader {
  enum class Encoding : std::uint8_t { ascii, binary, compressed } encoding = Encoding::ascii;
  std::vector<PcdField> fields;
  std::optional<std::uint64_t> points;  ///< nothing where neither POINTS nor WIDTH tells
  std::size_t data_begin = 0;           ///< bytes of the header, its last line end included
  std::uint64_t data_line = 0;          ///< number of the first line behind it

  std::uint64_t record_bytes() const;  ///< of a point, padding included
};

bool is_pcd(std::span<const std::byte> bytes);

/// FIELDS (or COLUMNS) and DATA must be there; SIZE is 4, TYPE F, COUNT 1 and HEIGHT 1 where they are missing. Throws
/// Error: corrupt (also where POINTS is not WIDTH times HEIGHT), unsupported (an unknown type, more than 4,096 numbers
/// a point). Source: Point Cloud Library, "The PCD (Point Cloud Data) file format", versions 0.5 to 0.7.
PcdHeader read_pcd_header(std::span<const std::byte> bytes);

}  // namespace penstock
