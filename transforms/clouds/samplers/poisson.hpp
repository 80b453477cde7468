// Samples points with a minimum distance from each other (Poisson disk sampling).
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Visits the points in random order. Takes a point unless it is closer than options.size to a taken one. No two taken
/// points are closer, and every other point is closer to a taken one. Distances are computed in float64 from the
/// float32 coordinates. Numbers ascend.
std::unique_ptr<PointSampler> poisson_sampler(const SampleOptions& options);

}  // namespace penstock
