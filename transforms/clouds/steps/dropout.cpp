#include <penstock/transforms/clouds/steps/dropout.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::Dropout::table() {
  static const PointTable<Dropout> table{
      "points.dropout", "PointNet++'s: a ratio is drawn; each point, with that probability, becomes the first one.",
      Parameter{"most", &Dropout::most, kProbability, "highest ratio"}};
  return table;
}

void step::Dropout::apply(PointBuffer& cloud, Random& random) const {
  const double ratio = random.uniform() * most;
  std::vector<std::uint32_t>& positions = cloud.positions();
  positions.resize(cloud.rows());
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = random.uniform() < ratio ? 0 : static_cast<std::uint32_t>(i);
  cloud.take(positions);
}

}  // namespace penstock
