#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::UnitSphere::table() {
  static const PointTable<UnitSphere> table{
      "points.unit_sphere",
      "Divides by the largest distance from (0, 0, 0). After center(), this is PointNet's normalization."};
  return table;
}

void step::UnitSphere::apply(PointBuffer& cloud, Random&) const {
  constexpr std::size_t kLanes = 8;
  const auto [x, y, z, count] = cloud.coordinates();
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t at = i + lane;
      const float square = (x[at] * x[at] + y[at] * y[at]) + z[at] * z[at];
      lanes[lane] = square > lanes[lane] ? square : lanes[lane];
    }
  }
  for (; i < count; ++i) lanes[0] = std::max(lanes[0], (x[i] * x[i] + y[i] * y[i]) + z[i] * z[i]);
  const float longest = std::sqrt(*std::max_element(lanes.begin(), lanes.end()));
  if (longest > 0 && std::isfinite(longest)) cloud.multiply(1.0F / longest);
}

const StepTable& step::UnitBox::table() {
  static const PointTable<UnitBox> table{
      "points.unit_box", "Moves the middle of the bounds to (0, 0, 0) and scales their longest side to 2."};
  return table;
}

void step::UnitBox::apply(PointBuffer& cloud, Random&) const {
  float longest = 0;
  for (std::size_t axis = 0; axis < PointBuffer::kAxes && cloud.rows() != 0; ++axis) {
    const float* values = cloud.column(axis);
    float low = std::numeric_limits<float>::infinity(), high = -low;
    // Minimum and maximum do not depend on the order, so the compiler may vectorise the loop.
    for (std::size_t i = 0; i < cloud.rows(); ++i) {
      low = values[i] < low ? values[i] : low;
      high = values[i] > high ? values[i] : high;
    }
    cloud.add(axis, -(low + (high - low) / 2));
    longest = std::max(longest, high - low);
  }
  if (longest > 0 && std::isfinite(longest)) cloud.multiply(2.0F / longest);
}

}  // namespace penstock
