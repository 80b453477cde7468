// Samples points that are far from each other (farthest point sampling).
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Draws the first point uniformly. Each next one is the point farthest from all earlier ones, with the lowest number
/// among equals. Points are in the order in which they are found, so any prefix is a farthest point sample too. When
/// all remaining points coincide with chosen ones, they follow in ascending order. The result is exact and equal on all
/// processors: a squared distance is (dx * dx + dy * dy) + dz * dz, each operation rounded to float32.
///
/// FarthestTree makes the sampler much faster than one distance for each pair of a point and a sample.
std::unique_ptr<PointSampler> fps_sampler(const SampleOptions& options);

}  // namespace penstock
