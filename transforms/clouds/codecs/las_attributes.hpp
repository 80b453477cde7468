// Finds the attributes of LAS point records by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <penstock/schema.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// An attribute and its place in a record.
struct LasAttribute {
  PointAttribute delivered;
  std::uint32_t at = 0;      ///< bytes from the start of the record
  DType stored = DType::u8;  ///< little-endian
  std::uint8_t shift = 0;    ///< right shift to the attribute's bits, if a byte holds several attributes
  std::uint8_t mask = 0xFF;  ///< applied after the shift
  bool scaled = false;       ///< delivered as float64: stored * scale + offset
  double scale = 1, offset = 0;
};

/// Length of a record of point format 0 to 10 without extra bytes.
std::size_t las_record_bytes(unsigned format);

/// Returns the attributes of a point format in laspy's order, then the extra bytes. `extra` is the content of the VLR
/// LASF_Spec/4, with 192 bytes for each name. Type numbers above 30 are reserved; the first of them ends the names.
/// Unnamed bytes of the record are "ExtraBytes" (uint8), or "ExtraBytes[0]" and so on if there are several. More than
/// 255 unnamed bytes are left out. Throws Error: corrupt, if the named bytes exceed the record.
/// Source: LAS Specification 1.4 - R15, tables 7 to 17 and 24, 25.
std::vector<LasAttribute> las_attributes(unsigned format, std::size_t record_bytes, std::span<const std::byte> extra);

}  // namespace penstock
