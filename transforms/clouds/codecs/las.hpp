// Decodes uncompressed LAS 1.0 to 1.4, point formats 0 to 10 (clouds/laz/laz.hpp decodes compressed files).
//
// Records have equal lengths and follow the header, so chosen points can be read separately: select_points() returns
// their byte ranges. Attributes have laspy's names and the stored dtype. Extra bytes with a scale or an offset are
// float64; arrays are name[0], name[1], ... Coordinates are relative to the origin that codecs/las_header.hpp
// describes. The origin depends only on the header.
//
// The header's point count is authoritative: a file with fewer records is corrupt, and records after the count are
// ignored.
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

const CloudCodec& las_codec();

}  // namespace penstock
