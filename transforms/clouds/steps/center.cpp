#include <array>

#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {
namespace {

// Sums in a fixed order, independent of the machine's vector length. The bytes of a batch depend on the rounding.
double sum(const float* values, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(values[i + lane]);
  }
  double total = 0;
  for (; i < count; ++i) total += static_cast<double>(values[i]);
  for (const double lane : lanes) total += lane;
  return total;
}

}  // namespace

const StepTable& step::Center::table() {
  static const PointTable<Center> table{"points.center", "Moves the mean of the points to (0, 0, 0)."};
  return table;
}

void step::Center::apply(PointBuffer& cloud, Random&) const {
  if (cloud.rows() == 0) return;
  for (std::size_t axis = 0; axis < PointBuffer::kAxes; ++axis) {
    const double mean = sum(cloud.column(axis), cloud.rows()) / static_cast<double>(cloud.rows());
    cloud.add(axis, static_cast<float>(-mean));
  }
}

}  // namespace penstock
