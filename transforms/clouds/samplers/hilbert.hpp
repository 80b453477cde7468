// Orders points along a Hilbert curve, on which neighbours in order are neighbours in space.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <transforms/clouds/samplers/point_bounds.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Place along the 3-D Hilbert curve of the cell (x, y, z) of a cube of 2^bits cells an edge, bits <= 21. Cells whose
/// places follow each other share a face; all that share the high 3 * k bits of theirs fill a cube.
/// Source: Hamilton and Rau-Chaplin, "Compact Hilbert indices", Information Processing Letters 105(5), 2008, section 2.
std::uint64_t hilbert_place(std::array<std::uint32_t, 3> cell, unsigned bits);

struct CurvePoint {
  std::uint64_t place;   ///< hilbert_place() of the point's cell
  std::uint32_t number;  ///< of the point in the cloud
};

/// The points along the curve through the cube that has the lower corner and the widest edge of `bounds`; those of one
/// cell by their numbers. Replaces `points` and `spare`.
void along_hilbert(const PointColumns& cloud, const PointBounds& bounds, unsigned bits, std::vector<CurvePoint>& points,
                   std::vector<CurvePoint>& spare);

}  // namespace penstock
