// The inner loops of FarthestTree, compiled for every SIMD level and chosen at run time. All levels give the same
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// A point, and its squared distance to the nearest sample.
struct Farthest {
  float distance;
  std::uint32_t number;
};

/// Nodes of one level. The length of each column is a multiple of kFan.
struct FarthestLevel {
  const float *low_x, *low_y, *low_z, *high_x, *high_y, *high_z;
  float* distance;  ///< distance of the farthest point in the node
  std::uint32_t* number;
};

struct FarthestView {
  static constexpr std::size_t kFan = 16;     ///< nodes below a node
  static constexpr std::size_t kBucket = 64;  ///< points below a node of the first level

  const float *x, *y, *z;
  float* distance;
  const std::uint32_t* number;
  const FarthestLevel* levels;  ///< buckets first
  std::size_t height;           ///< number of levels; the last has kFan nodes
};

/// Lowers the distances of points for which (x, y, z) is the nearest sample. Returns the farthest point.
Farthest add_sample(const FarthestView& tree, float x, float y, float z);

}  // namespace penstock
