// Interpolation at the points of an affine map, compiled for every SIMD level and chosen at run time. All levels give
// the same bytes: sums and products in double precision, each rounded, in Pillow's order.
#pragma once

#include <cstdint>

#include <transforms/image/kernels/warp.hpp>

namespace penstock::warp_rows {

/// Implements Warp::run() for bilinear and bicubic interpolation.
void interpolate(const Warp& warp, const PixelSource& source, bool bicubic, std::uint8_t* out);

}  // namespace penstock::warp_rows
