#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::DropNonfinite::table() {
  static const PointTable<DropNonfinite> table{
      "points.drop_nonfinite",
      "Drops points whose coordinates are not finite. Without this step, such a point is an error that names it."};
  return table;
}

void step::DropNonfinite::apply(PointBuffer& cloud, Random&) const {
  cloud.drop_nonfinite();
}

}  // namespace penstock
