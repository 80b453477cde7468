#include <algorithm>
#include <limits>

#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>
#include <transforms/normal_draws.hpp>

namespace penstock {

const StepTable& step::RandomJitter::table() {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  static const PointTable<RandomJitter> table{"points.random_jitter", "Adds normal noise to each coordinate, clipped.",
                                              Parameter{"sigma",
                                                        &RandomJitter::sigma,
                                                        {.least = 0, .most = kEndless, .unit = "the cloud's unit"},
                                                        "standard deviation"},
                                              Parameter{"clip",
                                                        &RandomJitter::clip,
                                                        {.least = 0, .most = kEndless, .unit = "the cloud's unit"},
                                                        "largest change of a coordinate"}};
  return table;
}

void step::RandomJitter::apply(PointBuffer& cloud, Random& random) const {
  const auto most = static_cast<float>(clip);
  for (std::size_t axis = 0; axis < PointBuffer::kAxes; ++axis) {
    float* values = cloud.column(axis);
    for (std::size_t i = 0; i < cloud.rows(); i += 2) {
      const auto [first, second] = draw_normals(random);
      values[i] += std::clamp(static_cast<float>(sigma * first), -most, most);
      if (i + 1 < cloud.rows()) values[i + 1] += std::clamp(static_cast<float>(sigma * second), -most, most);
    }
  }
}

}  // namespace penstock
