// points.attribute(), points.valid_mask() and points.origin(): what goes with points.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Attribute {
  std::string name;
  static const StepTable& table();
};
struct PointsValidMask {
  static const StepTable& table();
};
struct Origin {
  static const StepTable& table();
};
}  // namespace penstock::step

namespace penstock::points {
/// After follow("OUTPUT"), or as a chain of its own: one attribute of each point in its stored dtype: (K,).
inline Chain attribute(const std::string& name) {
  return one_step(step::Attribute{.name = name});
}
/// After follow("OUTPUT"): bool (K,), true where the row has a point, false where pad() filled up.
inline Chain valid_mask() {
  return one_step(step::PointsValidMask{});
}
/// After follow("OUTPUT"), or as a chain of its own: float64 (3,), what coordinates are relative to.
inline Chain origin() {
  return one_step(step::Origin{});
}
}  // namespace penstock::points
