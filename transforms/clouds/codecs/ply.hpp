// Decodes polygon files (.ply): their vertices as a cloud.
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// Properties x, y and z of the element "vertex", of any type; its other numbers are attributes under their own names
/// and types. Lists, other elements, comments and what stands behind the vertices are skipped. ASCII and binary of
/// either byte order, binary records without lists at the front of the file point by point.
///
/// ASCII is read number by number, line ends being blanks. Coordinates of ASCII files and of float64 and 32-bit
/// integers are told from an origin near the first point, where that is farther than 65,536 from (0, 0, 0); see
/// cloud.hpp. Throws Error: corrupt (header, too few bytes or numbers, a number beyond its type, with its line),
/// unsupported (no vertices, or none with x, y and z). Source: G. Turk, "The PLY Polygon File Format", 1994.
const CloudCodec& ply_codec();

}  // namespace penstock
