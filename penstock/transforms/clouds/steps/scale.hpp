// points.scale() and points.random_scale(): all coordinates by one factor.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Scale {
  double factor;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
struct RandomScale {
  double low = 0.8, high = 1.25;
  static const StepTable& table();
  void check() const;
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Multiplies every coordinate by one factor.
inline Chain scale(double factor) {
  return one_step(step::Scale{.factor = factor});
}
/// Multiplies every coordinate by one uniform number from `low` to `high`. Throws Error: invalid_argument, unless
/// low <= high.
inline Chain random_scale(double low = 0.8, double high = 1.25) {
  return one_step(step::RandomScale{.low = low, .high = high});
}
}  // namespace penstock::points
