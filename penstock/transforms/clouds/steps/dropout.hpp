// points.dropout(): points become the first one.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Dropout {
  double most = 0.875;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// A ratio is drawn from 0 to `most`, then each point, with that probability, becomes the first one.
/// Source: random_point_dropout of PointNet++.
inline Chain dropout(double most = 0.875) {
  return one_step(step::Dropout{.most = most});
}
}  // namespace penstock::points
