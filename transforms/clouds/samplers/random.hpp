// Samples points uniformly, without reading coordinates. See choose_random().
#pragma once

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

std::unique_ptr<PointSampler> random_sampler(const SampleOptions& options);

/// Appends `wanted` numbers below `points` that are not in `numbers`, each subset equally likely, then sorts all of
/// them. `numbers` must ascend and be below `points`, and at least `wanted` other numbers must exist.
void fill_up_random(std::uint64_t points, std::uint64_t wanted, Random& random, std::vector<std::uint32_t>& numbers);

}  // namespace penstock
