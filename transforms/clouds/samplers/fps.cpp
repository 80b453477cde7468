#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <transforms/clouds/samplers/farthest_rows.hpp>
#include <transforms/clouds/samplers/fps.hpp>
#include <transforms/clouds/samplers/hilbert.hpp>

namespace penstock {
namespace {

constexpr std::size_t kFan = FarthestView::kFan, kBucket = FarthestView::kBucket;
constexpr unsigned kCurveBits = 14;  // more bits would add sorting passes and hardly change the buckets
constexpr float kFar = std::numeric_limits<float>::infinity();

std::size_t in_groups(std::size_t count, std::size_t size) {
  return (count + size - 1) / size;
}

/// The points of a cloud in buckets of neighbours on a Hilbert curve, under a tree of boxes. Each bucket and each node
/// stores its box and its farthest point, that is the point with the greatest distance to its nearest sample. A new
/// sample skips a box that is at least as far away as this greatest distance. Most buckets are therefore skipped.
///
/// Skipping is exact despite rounding. A box's distance is computed like a point's, from coordinate differences that
/// are at most as large as those of its points. Rounding is monotonic, so no point of the box has a smaller computed
/// distance.
///
/// Source: Han et al., "QuickFPS: Architecture and Algorithm Co-Design for Farthest Point Sampling in Large-Scale Point
/// Clouds", IEEE TCAD 42(11), 2023, section III. They use a k-d tree with one level of buckets and deferred updates.
class FarthestTree {
 public:
  /// Builds the tree without samples. Throws Error: unsupported, for more than 2^32 - 1 points.
  void build(const PointColumns& cloud, const PointBounds& bounds);

  /// Adds a sample and returns the farthest point, with the lowest number among equals. For an empty cloud, number and
  /// distance are 0.
  Farthest add_sample(float x, float y, float z);

 private:
  struct Level {
    std::array<std::vector<float>, 3> low, high;
    std::vector<float> distance;
    std::vector<std::uint32_t> number;
    void resize(std::size_t nodes);
  };

  void fill_buckets(const PointColumns& cloud);
  void fill_level(const Level& below, std::size_t nodes_below, Level& level) const;

  std::vector<CurvePoint> curve_, spare_;
  std::array<std::vector<float>, 3> points_;
  std::vector<float> distance_;  // squared distance to the nearest sample
  std::vector<std::uint32_t> number_;
  std::vector<Level> levels_;  // buckets first; the last level has at most kFan nodes
  std::vector<FarthestLevel> views_;
};

// Padding nodes have distance 0, so that samples skip them.
void FarthestTree::Level::resize(std::size_t nodes) {
  const std::size_t padded = in_groups(nodes, kFan) * kFan;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    low[axis].assign(padded, 0);
    high[axis].assign(padded, 0);
  }
  distance.assign(padded, 0);
  number.assign(padded, std::numeric_limits<std::uint32_t>::max());
}

void FarthestTree::build(const PointColumns& cloud, const PointBounds& bounds) {
  along_hilbert(cloud, bounds, kCurveBits, curve_, spare_);
  fill_buckets(cloud);
  std::size_t nodes = in_groups(cloud.count, kBucket), height = 1;
  for (; nodes > kFan; ++height) {
    levels_.resize(std::max(levels_.size(), height + 1));
    fill_level(levels_[height - 1], nodes, levels_[height]);
    nodes = in_groups(nodes, kFan);
  }
  views_.clear();
  for (std::size_t i = 0; i < height; ++i) {
    Level& level = levels_[i];
    views_.push_back({level.low[0].data(), level.low[1].data(), level.low[2].data(), level.high[0].data(),
                      level.high[1].data(), level.high[2].data(), level.distance.data(), level.number.data()});
  }
}

void FarthestTree::fill_buckets(const PointColumns& cloud) {
  const std::size_t buckets = in_groups(cloud.count, kBucket), padded = buckets * kBucket;
  const float* columns[] = {cloud.x, cloud.y, cloud.z};
  levels_.resize(std::max<std::size_t>(levels_.size(), 1));
  Level& level = levels_.front();
  level.resize(buckets);
  distance_.assign(padded, kFar);
  std::fill(distance_.begin() + static_cast<std::ptrdiff_t>(cloud.count), distance_.end(), 0.0F);
  number_.assign(padded, std::numeric_limits<std::uint32_t>::max());
  for (std::size_t i = 0; i < cloud.count; ++i) number_[i] = curve_[i].number;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<float>& points = points_[axis];
    points.assign(padded, 0);
    for (std::size_t i = 0; i < cloud.count; ++i) points[i] = columns[axis][number_[i]];
  }
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const auto begin = static_cast<std::ptrdiff_t>(bucket * kBucket);
    const auto end = static_cast<std::ptrdiff_t>(std::min((bucket + 1) * kBucket, cloud.count));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto range = std::minmax_element(points_[axis].begin() + begin, points_[axis].begin() + end);
      level.low[axis][bucket] = *range.first;
      level.high[axis][bucket] = *range.second;
    }
    level.distance[bucket] = kFar;
    level.number[bucket] = *std::min_element(number_.begin() + begin, number_.begin() + end);
  }
}

void FarthestTree::fill_level(const Level& below, std::size_t nodes_below, Level& level) const {
  const std::size_t nodes = in_groups(nodes_below, kFan);
  level.resize(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto begin = static_cast<std::ptrdiff_t>(node * kFan);
    const auto end = static_cast<std::ptrdiff_t>(std::min((node + 1) * kFan, nodes_below));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      level.low[axis][node] = *std::min_element(below.low[axis].begin() + begin, below.low[axis].begin() + end);
      level.high[axis][node] = *std::max_element(below.high[axis].begin() + begin, below.high[axis].begin() + end);
    }
    level.distance[node] = kFar;
    level.number[node] = *std::min_element(below.number.begin() + begin, below.number.begin() + end);
  }
}

Farthest FarthestTree::add_sample(float x, float y, float z) {
  if (curve_.empty()) return {0, 0};
  return penstock::add_sample({points_[0].data(), points_[1].data(), points_[2].data(), distance_.data(),
                               number_.data(), views_.data(), views_.size()},
                              x, y, z);
}

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
