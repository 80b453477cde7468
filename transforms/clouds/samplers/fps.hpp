// Samples the points that lie farthest from each other (farthest point sampling).
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// The first point is drawn uniformly; each next one is the point farthest from all before it, the lowest number among
/// equals, in the order they are found: any prefix is a farthest point sample too. Exact, whatever the processor: the
/// squared distance of two points is (dx * dx + dy * dy) + dz * dz, each operation rounded to float32. Once all that is
/// left coincides with points taken, the rest comes by rising numbers.
///
/// Costs far less than a distance for each pair of a point and a sample: see FarthestTree.
std::unique_ptr<PointSampler> fps_sampler(const SampleOptions& options);

}  // namespace penstock
