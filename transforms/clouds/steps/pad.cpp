#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::Pad::table() {
  static const PointTable<Pad> table{
      "points.pad", "Adds rows of zeros after the points; see valid_mask().",
      Parameter{"points", &Pad::points, required({.least = 1, .unit = "points"}), "length of every row"}};
  return table;
}

void step::Pad::apply(PointBuffer& cloud, Random&) const {
  const auto rows = static_cast<std::size_t>(points);
  if (cloud.rows() > rows) {
    throw Error::shape("has " + std::to_string(cloud.rows()) + " points, more than points.pad(" +
                       std::to_string(points) + ")");
  }
  cloud.pad(rows);
}

}  // namespace penstock
