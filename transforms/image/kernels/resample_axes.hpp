// Describes the axes of a resample, from which its weights are made.
#pragma once

#include <penstock/geometry.hpp>
#include <transforms/image/kernels/filter_weights.hpp>

namespace penstock {

Axis horizontal_axis(const Geometry& geometry);
Axis vertical_axis(const Geometry& geometry);

/// The passes' order decides how a pixel is rounded. Source: Pillow 13, ImagingResampleInner (until 12 the horizontal
/// pass always came first).
bool vertical_first(const Geometry& geometry);

}  // namespace penstock
