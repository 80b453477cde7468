// points.pad(): rows of zeros behind the points, up to so many; see valid_mask().
#pragma once

#include <cstdint>

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Pad {
  std::int64_t points;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Rows of zeros behind the points, so that there are `points` of them; see valid_mask(). A cloud of more is an Error:
/// shape.
inline Chain pad(std::int64_t points) {
  return one_step(step::Pad{.points = points});
}
}  // namespace penstock::points
