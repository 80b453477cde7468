// Samples equally many points from each slice of height.
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// options.slices slices of equal height divide the range from the lowest z to the highest:
///
///   slice = floor((z - lowest) / (highest - lowest) * slices), in float64; the highest point belongs to the last slice
///
/// Each slice gives equally many points, drawn uniformly from its own. A slice with fewer points gives all of them, and
/// the other slices give the missing ones. If the number is not divisible, slices drawn at random give one more each.
/// Numbers ascend.
std::unique_ptr<PointSampler> stratified_sampler(const SampleOptions& options);

}  // namespace penstock
