// Computes the bounding box of a cloud. Rejects coordinates that are not finite.
#pragma once

#include <array>

#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock {

struct PointBounds {
  std::array<float, 3> low{}, high{};  ///< of x, y, z; zeros for an empty cloud

  double edge(std::size_t axis) const { return static_cast<double>(high[axis]) - static_cast<double>(low[axis]); }
  double widest() const;  ///< the longest edge
};

/// Throws Error: corrupt, with the number of the first point that is not finite; unsupported, for more points than 32
/// bits can number.
PointBounds bounds_of(const PointColumns& cloud);

}  // namespace penstock
