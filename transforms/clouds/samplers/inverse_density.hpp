// Samples points with less weight where they are dense.
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// A weighted sample without replacement, weight 1 / (points in the point's cell of PointCells): the first point is
/// drawn from all with probabilities in proportion to the weights, each later one so from those that are left. Where
/// options.size is 0, a cell's edge is the widest edge of the bounds divided by the whole part of the cube root of the
/// number of points. Numbers rise.
/// Source: Efraimidis and Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97(5),
/// 2006; with the logarithm of their keys, the points of the least -ln(u) / weight are taken, u uniform in (0, 1].
std::unique_ptr<PointSampler> inverse_density_sampler(const SampleOptions& options);

}  // namespace penstock
