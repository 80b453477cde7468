// Describes the axes of a resample, from which its weights are computed.
#pragma once

#include <penstock/geometry.hpp>
#include <transforms/image/kernels/filter_weights.hpp>

namespace penstock {

Axis horizontal_axis(const Geometry& geometry);
Axis vertical_axis(const Geometry& geometry);

/// Returns which pass comes first, because the order affects the rounding of pixels. Source: Pillow 13,
/// ImagingResampleInner (up to 12, the horizontal pass always came first).
bool vertical_first(const Geometry& geometry);

}  // namespace penstock
