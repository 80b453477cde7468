// Finds which point lies farthest from all samples, as samples are added: the search of farthest point sampling.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <transforms/clouds/samplers/farthest_rows.hpp>
#include <transforms/clouds/samplers/hilbert.hpp>

namespace penstock {

/// The points of a cloud in buckets of neighbours on a Hilbert curve, under a tree of boxes. Each bucket and each node
/// knows its box, and the point in it that is farthest from its nearest sample. A new sample changes nothing where a
/// box is at least as far from it as that point is from its own, so it looks into few buckets.
///
/// A box's distance is computed like a point's, from coordinates of which the point's differ at least as much; as
/// rounding keeps order, no point of the box comes out nearer: what is passed over would not have changed by a bit.
///
/// Source: Han et al., "QuickFPS: Architecture and Algorithm Co-Design for Farthest Point Sampling in Large-Scale Point
/// Clouds", IEEE TCAD 42(11), 2023, section III; there with a k-d tree, one level of buckets, and updates put off.
class FarthestTree {
 public:
  /// The cloud's points, with no sample among them yet. Throws Error: unsupported, for more than 2^32 - 1 points.
  void build(const PointColumns& cloud, const PointBounds& bounds);

  /// Adds a sample. Returns the farthest point, the lowest number among equals; number and distance are 0 for an empty
  /// cloud.
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
  std::vector<float> distance_;  // squared, to the nearest sample
  std::vector<std::uint32_t> number_;
  std::vector<Level> levels_;  // buckets first; the last has at most kFan nodes
  std::vector<FarthestLevel> views_;
};

}  // namespace penstock
