// Samples equally many points from each slice of height.
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// options.slices slices of equal height lie between the lowest z and the highest; slice = floor((z - lowest) /
/// (highest
/// - lowest) * slices) in float64, the highest point belonging to the last. Each gives the same number of points, drawn
/// uniformly from its own; a slice that has fewer gives all, and the others share what is missing. What does not divide
/// is one more point from so many slices drawn at random. Numbers rise.
std::unique_ptr<PointSampler> stratified_sampler(const SampleOptions& options);

}  // namespace penstock
