// Draws points evenly from surfaces of triangles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <penstock/transforms/random.hpp>

namespace penstock {

/// Corners by their number among the vertices, all of which are there.
struct TriangleMesh {
  std::vector<std::array<float, 3>> vertices;
  std::vector<std::array<std::uint32_t, 3>> triangles;
  void clear();  ///< keeps the memory
  /// A polygon as triangles that share its first corner. Fewer than three corners have no surface and add nothing.
  void add_polygon(const std::vector<std::uint32_t>& corners);
};

/// Writes k points x y z, each independently and uniformly distributed over the surface: a triangle with a probability
/// in proportion to its area, a place in it uniformly. Three draws of `random` a point. Triangles with a corner that is
/// not finite have no area. Throws Error: corrupt, where no triangle has an area and k > 0.
/// Source: Osada et al., "Shape Distributions", ACM TOG 21(4), 2002, section 4.2.
void sample_surface(const TriangleMesh& mesh, std::size_t k, Random& random, float* xyz);

}  // namespace penstock
