// points.random_shuffle(): the order of the points.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct RandomShuffle {
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// The points, with all their columns, in a random order.
inline Chain random_shuffle() {
  return one_step(step::RandomShuffle{});
}
}  // namespace penstock::points
