#include <algorithm>

#include <transforms/clouds/samplers/farthest_tree.hpp>
#include <transforms/clouds/samplers/fps.hpp>

namespace penstock {
namespace {

class FpsSampler : public PointSampler {
 public:
  explicit FpsSampler(std::int64_t points) : points_(static_cast<std::size_t>(points)) {}

  void choose(const PointColumns& cloud, Random& random, ChosenPoints& chosen) override {
    tree_.build(cloud, bounds_of(cloud));
    chosen.cells.clear();
    chosen.numbers.clear();
    const std::size_t wanted = std::min(points_, cloud.count);
    if (wanted == 0) return;
    chosen.numbers.reserve(wanted);
    auto next = static_cast<std::uint32_t>(random.below(cloud.count));
    for (;;) {
      chosen.numbers.push_back(next);
      if (chosen.numbers.size() == wanted) return;
      const Farthest farthest = tree_.add_sample(cloud.x[next], cloud.y[next], cloud.z[next]);
      if (farthest.distance == 0) break;
      next = farthest.number;
    }
    take_rest(cloud.count, wanted, chosen.numbers);
  }

 private:
  void take_rest(std::size_t points, std::size_t wanted, std::vector<std::uint32_t>& numbers) {
    taken_.assign(points, false);
    for (const std::uint32_t number : numbers) taken_[number] = true;
    for (std::uint32_t number = 0; numbers.size() < wanted; ++number)
      if (!taken_[number]) numbers.push_back(number);
  }

  std::size_t points_;
  FarthestTree tree_;
  std::vector<bool> taken_;
};

}  // namespace

std::unique_ptr<PointSampler> fps_sampler(const SampleOptions& options) {
  return std::make_unique<FpsSampler>(options.points);
}

}  // namespace penstock
