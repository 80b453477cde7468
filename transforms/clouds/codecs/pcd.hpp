// Decodes files of the Point Cloud Library (.pcd).
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// Fields x, y and z (or X, Y, Z) of any type are coordinates. Other fields are attributes with their names and types;
/// those with COUNT n are "name[0]" to "name[n-1]". "rgb" and "rgba" pack a colour in four bytes of any type. They
/// become "red", "green" and "blue" (and "alpha" for "rgba"), uint8. Fields named "_" are padding. NaN points are kept.
///
/// Reads versions 0.5 to 0.7: ASCII (separated by blanks, tabs or commas; numbers after the last field are skipped),
/// binary (little-endian, point by point) and binary_compressed. If neither POINTS nor WIDTH gives the number of
/// points, the length of the data does. The sensor's viewpoint and the rows of organised clouds are not delivered.
/// ASCII, float64 and 32-bit integer coordinates are relative to an origin near the first point if that point is
/// farther than 65,536 from (0, 0, 0); see origin_near().
/// Throws Error: corrupt (header, too few bytes or numbers, a number beyond its type, with its line), unsupported.
/// Source: Point Cloud Library, "The PCD (Point Cloud Data) file format".
const CloudCodec& pcd_codec();

}  // namespace penstock
