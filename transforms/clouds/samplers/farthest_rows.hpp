// The inner loops of FarthestTree, compiled for every SIMD level and chosen at run time; all give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

/// A point and the square of its distance to the nearest sample.
struct Farthest {
  float distance;
  std::uint32_t number;
};

/// Nodes of one level: each column has a whole multiple of kFan entries.
struct FarthestLevel {
  const float *low_x, *low_y, *low_z, *high_x, *high_y, *high_z;
  float* distance;  ///< of the farthest point below the node
  std::uint32_t* number;
};

struct FarthestView {
  static constexpr std::size_t kFan = 16;     ///< nodes below a node
  static constexpr std::size_t kBucket = 64;  ///< points below a node of the first level

  const float *x, *y, *z;
  float* distance;
  const std::uint32_t* number;
  const FarthestLevel* levels;  ///< buckets first
  std::size_t height;           ///< levels; the last has kFan nodes
};

/// Lowers the distances of the points that a sample at (x, y, z) is nearest to, and returns the farthest.
Farthest add_sample(const FarthestView& tree, float x, float y, float z);

}  // namespace penstock
