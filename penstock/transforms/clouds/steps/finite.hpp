// points.drop_nonfinite(): drops points with a coordinate that is no number, which otherwise is an error.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct DropNonfinite {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Drops points with a coordinate that is no finite number, which otherwise is an Error: corrupt that names the point.
inline Chain drop_nonfinite() {
  return one_step(step::DropNonfinite{});
}
}  // namespace penstock::points
