#include <algorithm>
#include <cmath>
#include <limits>

#include <bench/measure/coverage.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kLeaf = 8;
constexpr std::uint8_t kNoAxis = 3;

}  // namespace

NearestPoint::NearestPoint(const PointColumns& points) {
  for (std::size_t i = 0; i < points.count; ++i)
    points_.push_back(
        {{static_cast<double>(points.x[i]), static_cast<double>(points.y[i]), static_cast<double>(points.z[i])}});
  build(0, 0, points_.size());
}

void NearestPoint::build(std::size_t node, std::size_t begin, std::size_t end) {
  if (splits_.size() <= node) splits_.resize(node + 1, {0, kNoAxis});
  if (end - begin <= kLeaf) return;
  double widest = -1;
  std::uint8_t axis = 0;
  for (std::uint8_t a = 0; a < 3; ++a) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t i = begin; i < end; ++i) {
      low = std::min(low, points_[i].at[a]);
      high = std::max(high, points_[i].at[a]);
    }
    if (high - low > widest) widest = high - low, axis = a;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  const auto at = [&](std::size_t i) { return points_.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(at(begin), at(middle), at(end),
                   [axis](const Point& a, const Point& b) { return a.at[axis] < b.at[axis]; });
  splits_[node] = {points_[middle].at[axis], axis};
  build(2 * node + 1, begin, middle);
  build(2 * node + 2, middle, end);
}

double NearestPoint::square_distance(double x, double y, double z) const {
  double least = std::numeric_limits<double>::infinity();
  search(0, 0, points_.size(), {{x, y, z}}, least);
  return least;
}

void NearestPoint::search(std::size_t node, std::size_t begin, std::size_t end, const Point& from,
                          double& least) const {
  // Nodes store no ranges: this halves them in the same way as build().
  const Split& split = splits_[node];
  if (split.axis == kNoAxis) {
    for (std::size_t i = begin; i < end; ++i) {
      const double dx = points_[i].at[0] - from.at[0], dy = points_[i].at[1] - from.at[1];
      const double dz = points_[i].at[2] - from.at[2];
      least = std::min(least, dx * dx + dy * dy + dz * dz);
    }
    return;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  // The other half can hold a nearer point only if the splitting plane is nearer than the best point so far.
  const double beyond = from.at[split.axis] - split.place;
  if (beyond < 0) {
    search(2 * node + 1, begin, middle, from, least);
    if (beyond * beyond < least) search(2 * node + 2, middle, end, from, least);
  } else {
    search(2 * node + 2, middle, end, from, least);
    if (beyond * beyond < least) search(2 * node + 1, begin, middle, from, least);
  }
}

Coverage coverage(const PointColumns& cloud, const PointColumns& chosen) {
  if (cloud.count == 0) return {};
  if (chosen.count == 0) throw Error::invalid_argument("no points were chosen from a cloud that is not empty");
  const NearestPoint nearest(chosen);
  Coverage covered;
  for (std::size_t i = 0; i < cloud.count; ++i) {
    const double distance = std::sqrt(nearest.square_distance(
        static_cast<double>(cloud.x[i]), static_cast<double>(cloud.y[i]), static_cast<double>(cloud.z[i])));
    covered.mean += distance;
    covered.most = std::max(covered.most, distance);
  }
  covered.mean /= static_cast<double>(cloud.count);
  return covered;
}

}  // namespace penstock
