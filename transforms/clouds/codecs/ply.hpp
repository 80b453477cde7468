// Decodes polygon files (.ply), with their vertices as a cloud.
#pragma once

#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// Properties x, y and z of the element "vertex", of any type, are the coordinates. The element's other scalar
/// properties are attributes with their names and types. Lists, other elements, comments and data after the vertices
/// are skipped. Reads ASCII and binary files of either byte order. Binary files are read point by point if the vertices
/// come first and have no lists.
///
/// In ASCII files, an element is one line; empty lines are skipped. ASCII, float64 and 32-bit integer coordinates are
/// relative to an origin near the first point if that point is farther than 65,536 from (0, 0, 0); see origin_near().
/// Throws Error: corrupt, with the line (header, too few bytes, a wrong count of numbers in a line, a number beyond its
/// type); unsupported (no vertices, or none with x, y and z).
/// Source: G. Turk, "The PLY Polygon File Format", 1994.
const CloudCodec& ply_codec();

}  // namespace penstock
