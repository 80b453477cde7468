// Decodes meshes of the Object File Format (.off): their vertices as a cloud, and their surface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <penstock/points.hpp>
#include <penstock/random.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

namespace penstock {

/// Triangles whose corners are valid indices of `vertices`.
struct TriangleMesh {
  std::vector<std::array<float, 3>> vertices;
  std::vector<std::array<std::uint32_t, 3>> triangles;
  void clear();  ///< keeps the memory
  /// Adds a polygon as a fan of triangles around its first corner. Polygons with fewer than three corners add nothing.
  void add_polygon(const std::vector<std::uint32_t>& corners);
};

/// Writes k points x y z, independent and uniformly distributed over the surface. A triangle is drawn with probability
/// proportional to its area, then a point uniformly inside it. Each point uses three draws of `random`. Triangles with
/// a corner that is not finite have no area. Throws Error: corrupt, if no triangle has an area and k > 0.
/// Source: Osada et al., "Shape Distributions", ACM TOG 21(4), 2002, section 4.2.
void sample_surface(const TriangleMesh& mesh, std::size_t k, Random& random, float* xyz);

/// Delivers vertices x y z, relative to (0, 0, 0). NOFF normals are "nx", "ny", "nz", float32. COFF colours are "red",
/// "green", "blue" (and "alpha", if the first vertex has four). Colours are uint8, or float32 if the first vertex
/// writes one with a decimal point. The counts may follow the keyword on the same line, even without a blank. The
/// number of edges may be missing. Words after a vertex's numbers, comments ("#" to the end of the line) and empty
/// lines are skipped. Faces are not read. Throws Error: corrupt, with the line (a count that does not fit, too few
/// numbers); unsupported (binary files, four-dimensional ones, texture coordinates). Source: Geomview manual, "OFF
/// Files".
const CloudCodec& off_codec();

/// Replaces `mesh` by the vertices and faces of an OFF file. Polygons become fans of triangles. Throws the errors of
/// off_codec(), and Error: corrupt, if a face names a vertex that does not exist.
void read_off_mesh(std::span<const std::byte> bytes, TriangleMesh& mesh);

/// The decoder of off_codec(), which can also draw points from the surface.
class OffDecoder : public CloudDecoder {
 public:
  /// Writes (k, 3) float32: points drawn uniformly from the surface of the value by sample_surface(). Does not require
  /// open(). Throws Error: corrupt, unsupported.
  virtual void surface(const FieldBytes& field, std::size_t k, Random& random, float* xyz) = 0;
};

/// Creates the decoder of off_codec() with its own type.
std::unique_ptr<OffDecoder> off_decoder(const DecodeOptions& options = {});

}  // namespace penstock
