// Decides how much smaller than stored an image is decoded, where its chain makes it much smaller anyway.
#pragma once

#include <penstock/geometry.hpp>

namespace penstock {

/// 8, 4 or 2, where the geometry makes both sides at least that much smaller; else 1.
unsigned shrink_denominator(const Geometry& geometry);

/// Of an image decoded at 1/`denominator`: both sides rounded up.
Size shrunk_size(Size size, unsigned denominator);

/// The geometry for an image decoded at 1/`denominator`, which has `size` pixels then: the same output, as nearly as
/// those pixels tell. What crops left visible is rounded outward to whole pixels.
Geometry shrunk(const Geometry& geometry, Size size, unsigned denominator);

}  // namespace penstock
