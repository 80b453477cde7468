// Measures how well a few points represent a cloud.
#pragma once

#include <cstdint>
#include <vector>

#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

/// Distances from every point of a cloud to the nearest chosen point, in the cloud's unit.
struct Coverage {
  double mean = 0;  ///< the one-sided Chamfer distance, not squared
  double most = 0;  ///< the one-sided Hausdorff distance: the radius of the largest hole
};

/// Exact, in float64. `chosen` may be any points. Throws Error: invalid_argument, if `chosen` is empty and the cloud is
/// not.
Coverage coverage(const PointColumns& cloud, const PointColumns& chosen);

/// Finds the nearest of some points: a k-d tree, split at the median of the widest axis.
class NearestPoint {
 public:
  explicit NearestPoint(const PointColumns& points);  ///< copies the points; at least one
  double square_distance(double x, double y, double z) const;

 private:
  struct Point {
    double at[3];
  };
  struct Split {
    double place;       // coordinates before the middle are at most this, those after it at least
    std::uint8_t axis;  // 3: a leaf
  };
  void build(std::size_t node, std::size_t begin, std::size_t end);
  void search(std::size_t node, std::size_t begin, std::size_t end, const Point& from, double& least) const;

  std::vector<Point> points_;
  std::vector<Split> splits_;  // children of i: 2 * i + 1, 2 * i + 2
};

}  // namespace penstock
