#include <penstock/transforms/clouds/steps/shift.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::Shift::table() {
  static const PointTable<Shift> table{
      "points.shift", "Moves the cloud by a uniform number along each axis.",
      Parameter{"range", &Shift::range, {.least = 0, .unit = "the cloud's unit"}, "farthest to either side"}};
  return table;
}

void step::Shift::apply(PointBuffer& cloud, Random& random) const {
  for (std::size_t axis = 0; axis < PointBuffer::kAxes; ++axis)
    cloud.add(axis, static_cast<float>(random.uniform(-range, range)));
}

}  // namespace penstock
