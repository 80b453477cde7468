// Orders points along a Hilbert curve. Neighbours on the curve are neighbours in space.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <transforms/clouds/samplers/point_bounds.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Returns the place of cell (x, y, z) along the 3-D Hilbert curve through a cube with 2^bits cells per edge, bits <=
/// 21. Cells with consecutive places share a face. Cells with the same high 3 * k bits of their places fill a cube.
/// Source: Hamilton and Rau-Chaplin, "Compact Hilbert indices", Information Processing Letters 105(5), 2008, section 2.
std::uint64_t hilbert_place(std::array<std::uint32_t, 3> cell, unsigned bits);

struct CurvePoint {
  std::uint64_t place;   ///< hilbert_place() of the point's cell
  std::uint32_t number;  ///< the point's number in the cloud
};

/// Sorts the points along the curve through the cube with the lower corner and the widest edge of `bounds`. Points of
/// the same cell are sorted by number. Replaces `points` and `spare`.
void along_hilbert(const PointColumns& cloud, const PointBounds& bounds, unsigned bits, std::vector<CurvePoint>& points,
                   std::vector<CurvePoint>& spare);

}  // namespace penstock
