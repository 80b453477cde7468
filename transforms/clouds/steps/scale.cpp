#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::Scale::table() {
  static const PointTable<Scale> table{"points.scale", "Multiplies every coordinate.",
                                       Parameter{"factor", &Scale::factor, kRequired, "factor for all coordinates"}};
  return table;
}

void step::Scale::apply(PointBuffer& cloud, Random&) const {
  cloud.multiply(static_cast<float>(factor));
}

const StepTable& step::RandomScale::table() {
  static const PointTable<RandomScale> table{"points.random_scale",
                                             "Multiplies every coordinate by one uniform number from low to high.",
                                             Parameter{"low", &RandomScale::low, kUsual, "lowest factor"},
                                             Parameter{"high", &RandomScale::high, kUsual, "highest factor"}};
  return table;
}

void step::RandomScale::check() const {
  if (low > high) throw Error::invalid_argument("points.random_scale() needs low <= high");
}

void step::RandomScale::apply(PointBuffer& cloud, Random& random) const {
  cloud.multiply(static_cast<float>(random.uniform(low, high)));
}

}  // namespace penstock
