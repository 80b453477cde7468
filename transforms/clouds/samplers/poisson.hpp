// Samples points that keep a distance from each other (Poisson disk sampling).
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Visits the points in random order and takes each that is not closer than options.size to one taken before, distances
/// being computed in float64 from the float32 coordinates: no two are closer, and every point left out is closer to
/// one. Numbers rise.
std::unique_ptr<PointSampler> poisson_sampler(const SampleOptions& options);

}  // namespace penstock
