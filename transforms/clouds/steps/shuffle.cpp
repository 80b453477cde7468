#include <numeric>
#include <utility>

#include <penstock/points.hpp>
#include <transforms/clouds/steps/point_step.hpp>

namespace penstock {

const StepTable& step::RandomShuffle::table() {
  static const PointTable<RandomShuffle> table{"points.random_shuffle", "Shuffles the points."};
  return table;
}

void step::RandomShuffle::apply(PointBuffer& cloud, Random& random) const {
  std::vector<std::uint32_t>& positions = cloud.positions();
  positions.resize(cloud.rows());
  std::iota(positions.begin(), positions.end(), 0U);
  for (std::size_t i = positions.size(); i > 1; --i) std::swap(positions[i - 1], positions[random.below(i)]);
  cloud.take(positions);
}

}  // namespace penstock
