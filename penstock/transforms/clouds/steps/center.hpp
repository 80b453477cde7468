// points.center(): the mean of the points moves to (0, 0, 0).
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Center {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// The mean of the points moves to (0, 0, 0).
inline Chain center() {
  return one_step(step::Center{});
}
}  // namespace penstock::points
