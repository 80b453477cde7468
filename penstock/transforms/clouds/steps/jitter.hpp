// points.random_jitter(): normal noise on each coordinate, clipped to +-clip.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct RandomJitter {
  double sigma = 0.01, clip = 0.05;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Normal noise of deviation `sigma` on each coordinate, clipped to -clip and clip; both in the cloud's unit.
inline Chain random_jitter(double sigma = 0.01, double clip = 0.05) {
  return one_step(step::RandomJitter{.sigma = sigma, .clip = clip});
}
}  // namespace penstock::points
