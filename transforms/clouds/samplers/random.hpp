// Samples points uniformly, without looking at coordinates. See choose_random().
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

std::unique_ptr<PointSampler> random_sampler(const SampleOptions& options);

/// Appends `wanted` of the numbers below `points` that are not in `numbers` (rising, all below `points`; at least
/// `wanted` must be left), each subset equally likely; all of them rise in the end.
void fill_up_random(std::uint64_t points, std::uint64_t wanted, Random& random, std::vector<std::uint32_t>& numbers);

}  // namespace penstock
