// Decodes files of the Point Cloud Library (.pcd).
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// Fields x, y and z (or X, Y, Z) of any type; the others are attributes under their own names and types, those with
/// COUNT n as "name[0]" to "name[n-1]". "rgb" and "rgba", which pack a colour in four bytes whatever their type, are
/// "red", "green" and "blue" (and "alpha" of "rgba"), uint8. Fields named "_" are padding. Points that are NaN stay.
///
/// Versions 0.5 to 0.7; ASCII (separated by blanks, tabs or commas; numbers behind the last field are skipped), binary
/// (little-endian, point by point) and binary_compressed. Where neither POINTS nor WIDTH tells how many points there
/// are, the data do. The sensor's viewpoint and the rows of organised clouds are not delivered. Coordinates of ASCII
/// files, float64 and 32-bit integers are told from an origin near the first point, where that is farther than 65,536
/// from (0, 0, 0); see cloud.hpp.
/// Throws Error: corrupt (header, too few bytes or numbers, a number beyond its type, with its line), unsupported.
/// Source: Point Cloud Library, "The PCD (Point Cloud Data) file format".
const CloudCodec& pcd_codec();

}  // namespace penstock
