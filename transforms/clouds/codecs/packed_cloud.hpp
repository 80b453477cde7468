// Reads and writes the format "points", in which `pack` stores clouds if it samples or orders their points.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// All numbers are little-endian:
///
///    0  "PSPOINTS"
///    8  u16 version, 1; u8 order (PointOrder); u8 number of attributes
///   12  u32 offset of the first record, a multiple of 16
///   16  u64 points
///   24  3 x f64 origin
///   48  u32 bytes of a record; u32 zero
///   56  for each attribute: u8 dtype (DType), u8 length of its name, the name
///       zeros up to the first record
///       records: f32 x, y, z relative to the origin, then the attributes in their dtypes, without gaps
///
/// A run of consecutive points is one byte range, so a loader that needs a run reads only that range.
const CloudCodec& packed_cloud_codec();

/// Columns of a cloud to encode: (points, 3) coordinates, and the elements of each attribute.
struct CloudColumns {
  std::span<const float> coordinates;
  std::vector<std::span<const std::byte>> attributes;
};

/// Replaces `out`. Does not store header.chunk_points. Throws Error: invalid_argument, if columns and header differ, if
/// there are more than 255 attributes, or if a name has more than 255 bytes.
void encode_cloud(const CloudHeader& header, const CloudColumns& columns, std::vector<std::byte>& out);

}  // namespace penstock
