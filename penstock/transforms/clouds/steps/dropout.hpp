// points.random_dropout(): points become the first one.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct RandomDropout {
  double max_ratio = 0.875;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// A ratio is drawn from 0 to `max_ratio`, then each point, with that probability, becomes the first one.
/// Source: random_point_dropout of PointNet++.
inline Chain random_dropout(double max_ratio = 0.875) {
  return one_step(step::RandomDropout{.max_ratio = max_ratio});
}
}  // namespace penstock::points
