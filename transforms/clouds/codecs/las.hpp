// Decodes LAS 1.0 to 1.4, point formats 0 to 10, uncompressed (clouds/laz.hpp decodes the others).
//
// Points are records of one length behind the header, so chosen ones are read alone: select_points() names their
// ranges. Attributes have laspy's names and the stored dtype; extra bytes with a scale or an offset are float64, arrays
// are name[0], name[1], ... Coordinates are relative to the origin that clouds/las_header.hpp describes, which the
// header alone tells.
//
// The header's count of points holds: a file with fewer records is corrupt, records beyond the count are not points.
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

const CloudCodec& las_codec();

}  // namespace penstock
