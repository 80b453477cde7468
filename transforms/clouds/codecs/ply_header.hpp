// Reads the header of a PLY file: elements and their properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <penstock/schema.hpp>

namespace penstock {

struct PlyProperty {
  std::string name;
  DType dtype;                  ///< of the value, or of a list's items
  std::optional<DType> length;  ///< of a list: the type of its item count
};

struct PlyElement {
  std::string name;
  std::uint64_t count;
  std::vector<PlyProperty> properties;

  bool has_lists() const;
  std::uint64_t least_bytes() const;  ///< binary length of an element; with lists the minimum
};

struct PlyHeader {
  enum class Encoding : std::uint8_t { ascii, little, big } encoding = Encoding::ascii;
  std::vector<PlyElement> elements;
  std::size_t vertex = 0;       ///< index of the element "vertex"
  std::size_t data_begin = 0;   ///< length of the header, including its last line end
  std::uint64_t data_line = 0;  ///< number of the first line after the header
};

bool is_ply(std::span<const std::byte> bytes);

/// Lines end with "\n", "\r\n" or "\r". Comments and obj_info lines are skipped. Throws Error: corrupt, unsupported (a
/// version other than 1.0, no element "vertex").
/// Source: G. Turk, "The PLY Polygon File Format", 1994.
PlyHeader read_ply_header(std::span<const std::byte> bytes);

}  // namespace penstock
