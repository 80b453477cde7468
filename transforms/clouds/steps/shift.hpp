// points.shift(): the cloud, by uniform numbers from -range to range along each axis.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Shift {
  double range = 0.1;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
inline Chain shift(double range = 0.1) {
  return one_step(step::Shift{.range = range});
}
}  // namespace penstock::points
