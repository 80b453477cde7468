// points.unit_sphere() and points.unit_box(): a cloud is scaled to one size.
#pragma once

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct UnitSphere {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
struct UnitBox {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// Divides coordinates by the largest distance of a point from (0, 0, 0). After center(): PointNet's normalization.
inline Chain unit_sphere() {
  return one_step(step::UnitSphere{});
}
/// The middle of the bounds moves to (0, 0, 0), their longest side becomes 2.
inline Chain unit_box() {
  return one_step(step::UnitBox{});
}
}  // namespace penstock::points
