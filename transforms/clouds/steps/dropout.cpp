#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::RandomDropout::table() {
  static const PointTable<RandomDropout> table{
      "points.random_dropout",
      "PointNet++'s dropout: draws a ratio, then replaces each point by the first one with that probability.",
      Parameter{"max_ratio", &RandomDropout::max_ratio, kProbability, "highest ratio"}};
  return table;
}

void step::RandomDropout::apply(PointBuffer& cloud, Random& random) const {
  const double ratio = random.uniform() * max_ratio;
  std::vector<std::uint32_t>& positions = cloud.positions();
  positions.resize(cloud.rows());
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = random.uniform() < ratio ? 0 : static_cast<std::uint32_t>(i);
  cloud.take(positions);
}

}  // namespace penstock
