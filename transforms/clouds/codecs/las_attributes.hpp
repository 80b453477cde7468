// Finds the attributes of LAS point records by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <penstock/schema.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// An attribute and where it lies in a record.
struct LasAttribute {
  PointAttribute delivered;
  std::uint32_t at = 0;      ///< bytes from the start of the record
  DType stored = DType::u8;  ///< little-endian
  std::uint8_t shift = 0;    ///< of the bits of a byte that holds several attributes
  std::uint8_t mask = 0xFF;  ///< after the shift
  bool scaled = false;       ///< delivered as float64: stored * scale + offset
  double scale = 1, offset = 0;
};

/// Bytes of a record of point format 0 to 10 without extra bytes.
std::size_t las_record_bytes(unsigned format);

/// The attributes of a point format in laspy's order, then those that `extra`, the content of VLR LASF_Spec/4, names
/// (192 bytes each). Bytes of the record that nothing names are "ExtraBytes": uint8, "ExtraBytes[0]" and so on where
/// there are several, and left out where they are more than 255; type numbers above 30, which are reserved, end the
/// names. Throws Error: corrupt, where what `extra` names does not fit into the record.
/// Source: LAS Specification 1.4 - R15, tables 7 to 17 and 24, 25.
std::vector<LasAttribute> las_attributes(unsigned format, std::size_t record_bytes, std::span<const std::byte> extra);

}  // namespace penstock
