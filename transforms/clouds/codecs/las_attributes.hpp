// Finds the attributes of LAS point records by name.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <penstock/transforms/clouds/codecs/las_header.hpp>

namespace penstock {

/// The attributes of a point format in laspy's order, then those that `extra`, the content of VLR LASF_Spec/4, names
/// (192 bytes each). Bytes of the record that nothing names are "ExtraBytes": uint8, "ExtraBytes[0]" and so on where
/// there are several, and left out where they are more than 255; type numbers above 30, which are reserved, end the
/// names. Throws Error: corrupt, where what `extra` names does not fit into the record.
/// Source: LAS Specification 1.4 - R15, tables 7 to 17 and 24, 25.
std::vector<LasAttribute> las_attributes(unsigned format, std::size_t record_bytes, std::span<const std::byte> extra);

}  // namespace penstock
