// points.random_shift(): the cloud moves by random numbers.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct RandomShift {
  double range = 0.1;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Moves the cloud by a uniform number from -range to range along each axis, in the cloud's unit.
inline Chain random_shift(double range = 0.1) {
  return one_step(step::RandomShift{.range = range});
}
}  // namespace penstock::points
