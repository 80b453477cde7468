#include <algorithm>

#include <base/numbers/portable_math.hpp>
#include <transforms/clouds/samplers/inverse_density.hpp>
#include <transforms/clouds/samplers/point_cells.hpp>

namespace penstock {
namespace {

/// Returns the integer part of the cube root. Unlike std::cbrt, the result is the same on every processor.
std::uint32_t cube_root(std::uint64_t number) {
  std::uint64_t root = 0;
  // The root of a number below 2^32 has at most 11 bits.
  for (std::uint64_t bit = 1 << 10; bit != 0; bit >>= 1)
    if ((root + bit) * (root + bit) * (root + bit) <= number) root += bit;
  return static_cast<std::uint32_t>(root);
}

class InverseDensitySampler : public PointSampler {
 public:
  explicit InverseDensitySampler(const SampleOptions& options)
      : size_(options.size), points_(static_cast<std::size_t>(options.points)) {}

  void choose(const PointColumns& cloud, Random& random, ChosenPoints& chosen) override {
    const PointBounds bounds = bounds_of(cloud);
    cells_.build(cloud, bounds, edge(bounds, cloud.count));
    keys_.resize(cloud.count);
    for (std::size_t i = 0; i < cloud.count; ++i)
      keys_[i] = {-portable::quick_log(1 - random.uniform()) * cells_.count()[cells_.cell_of()[i]],
                  static_cast<std::uint32_t>(i)};
    const std::size_t wanted = std::min(points_, cloud.count);
    const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(wanted);
    if (wanted < cloud.count) std::nth_element(keys_.begin(), end, keys_.end());
    chosen.cells.clear();
    chosen.numbers.clear();
    std::transform(keys_.begin(), end, std::back_inserter(chosen.numbers), [](const Key& key) { return key.second; });
    std::sort(chosen.numbers.begin(), chosen.numbers.end());
  }

 private:
  using Key = std::pair<double, std::uint32_t>;  // ties go to the lower number

  double edge(const PointBounds& bounds, std::size_t count) const {
    if (size_ > 0) return size_;
    const double widest = bounds.widest();
    return widest > 0 ? widest / cube_root(count) : 1;
  }

  double size_;
  std::size_t points_;
  PointCells cells_;
  std::vector<Key> keys_;
};

}  // namespace

std::unique_ptr<PointSampler> inverse_density_sampler(const SampleOptions& options) {
  return std::make_unique<InverseDensitySampler>(options);
}

}  // namespace penstock
