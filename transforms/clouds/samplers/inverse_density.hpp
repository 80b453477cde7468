// Samples points, with lower weights where the cloud is dense.
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Draws a weighted sample without replacement, with weight 1 / (points in the point's cell of PointCells). Each point
/// is drawn from the remaining ones with probabilities proportional to their weights. If options.size is 0, a cell's
/// edge is the widest edge of the bounds divided by the integer part of the cube root of the number of points. Numbers
/// ascend.
/// Source: Efraimidis and Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97(5),
/// 2006. The code uses the logarithm of their keys: it takes the points with the least -ln(u) / weight, u uniform in
/// (0, 1].
std::unique_ptr<PointSampler> inverse_density_sampler(const SampleOptions& options);

}  // namespace penstock
