#include <algorithm>

#include <transforms/clouds/samplers/point_cells.hpp>
#include <transforms/clouds/samplers/point_order.hpp>
#include <transforms/clouds/samplers/poisson.hpp>
#include <transforms/clouds/samplers/random.hpp>

namespace penstock {
namespace {

// Factor that makes cells slightly wider than the distance, so that points closer than the distance are in adjacent
// cells. The division that finds a cell rounds, with an error below 2^-19 of a cell, because an axis has at most 2^32
// cells.
constexpr double kWider = 1 + 0x1p-16;

class PoissonSampler : public PointSampler {
 public:
  explicit PoissonSampler(const SampleOptions& options)
      : size_(options.size), points_(static_cast<std::size_t>(options.points)) {}

  void choose(const PointColumns& cloud, Random& random, ChosenPoints& chosen) override {
    cells_.build(cloud, bounds_of(cloud), size_ * kWider);
    around_.resize(cells_.size());
    for (std::size_t cell = 0; cell < cells_.size(); ++cell)
      around_[cell] = cells_.around(static_cast<std::uint32_t>(cell));
    last_.assign(cells_.size(), PointCells::kNone);
    before_.clear();
    coordinates_.clear();
    taken_.clear();
    for (const std::uint32_t point : random_order(cloud.count, random))
      if (!crowded(cloud, point)) take(cloud, point);
    chosen.cells.clear();
    hand_over(cloud.count, random, chosen.numbers);
  }

 private:
  struct Coordinates {
    double x, y, z;
  };

  static Coordinates coordinates_of(const PointColumns& cloud, std::uint32_t point) {
    return {static_cast<double>(cloud.x[point]), static_cast<double>(cloud.y[point]),
            static_cast<double>(cloud.z[point])};
  }

  bool crowded(const PointColumns& cloud, std::uint32_t point) const {
    const Coordinates at = coordinates_of(cloud, point);
    for (const std::uint32_t cell : around_[cells_.cell_of()[point]]) {
      if (cell == PointCells::kNone) return false;
      for (std::uint32_t i = last_[cell]; i != PointCells::kNone; i = before_[i]) {
        const double dx = at.x - coordinates_[i].x, dy = at.y - coordinates_[i].y, dz = at.z - coordinates_[i].z;
        if ((dx * dx + dy * dy) + dz * dz < size_ * size_) return true;
      }
    }
    return false;
  }

  void take(const PointColumns& cloud, std::uint32_t point) {
    std::uint32_t& last = last_[cells_.cell_of()[point]];
    coordinates_.push_back(coordinates_of(cloud, point));
    before_.push_back(last);
    last = static_cast<std::uint32_t>(taken_.size());
    taken_.push_back(point);
  }

  void hand_over(std::size_t points, Random& random, std::vector<std::uint32_t>& numbers) {
    const std::size_t wanted = points_ == 0 ? taken_.size() : std::min(points_, points);
    choose_random(taken_.size(), wanted, random, numbers);
    std::sort(taken_.begin(), taken_.end());
    for (std::uint32_t& number : numbers) number = taken_[number];
    if (numbers.size() < wanted) fill_up_random(points, wanted - numbers.size(), random, numbers);
  }

  double size_;
  std::size_t points_;
  PointCells cells_;
  std::vector<std::array<std::uint32_t, 27>> around_;  // neighbours of each cell
  std::vector<std::uint32_t> last_;                    // index into `taken_` of the point that each cell took last
  std::vector<std::uint32_t> before_;                  // for each taken point, the one that its cell took before
  std::vector<Coordinates> coordinates_;               // of each taken point
  std::vector<std::uint32_t> taken_;
};

}  // namespace

std::unique_ptr<PointSampler> poisson_sampler(const SampleOptions& options) {
  return std::make_unique<PoissonSampler>(options);
}

}  // namespace penstock
