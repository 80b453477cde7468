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
  std::vector<std::uint32_t>& positions = cloud.positions();
  positions.clear();
  for (std::size_t i = 0; i < cloud.rows(); ++i) {
    if (cloud.finite(i)) positions.push_back(static_cast<std::uint32_t>(i));
  }
  if (positions.size() != cloud.rows()) cloud.take(positions);
}

}  // namespace penstock
