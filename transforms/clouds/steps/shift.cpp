#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::RandomShift::table() {
  static const PointTable<RandomShift> table{
      "points.random_shift", "Moves the cloud along each axis by a uniform random number.",
      Parameter{
          "range", &RandomShift::range, {.least = 0, .unit = "the cloud's unit"}, "largest shift to either side"}};
  return table;
}

void step::RandomShift::apply(PointBuffer& cloud, Random& random) const {
  for (std::size_t axis = 0; axis < PointBuffer::kAxes; ++axis)
    cloud.add(axis, static_cast<float>(random.uniform(-range, range)));
}

}  // namespace penstock
