// Chooses how much smaller an image is decoded if its chain shrinks it much anyway.
#pragma once

#include <penstock/geometry.hpp>

namespace penstock {

/// Returns 8, 4 or 2 if the geometry shrinks both sides at least by that factor, else 1.
unsigned shrink_denominator(const Geometry& geometry);

/// Returns the size of an image decoded at 1/`denominator`, with both sides rounded up.
Size shrunk_size(Size size, unsigned denominator);

/// Returns the geometry for an image decoded at 1/`denominator`, which then has `size` pixels. The output covers the
/// same area as nearly as those pixels allow. The area that crops left visible is rounded outward to whole pixels.
Geometry shrunk(const Geometry& geometry, Size size, unsigned denominator);

}  // namespace penstock
