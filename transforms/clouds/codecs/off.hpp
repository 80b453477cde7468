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

/// Vertices x y z, relative to (0, 0, 0). Normals of NOFF are "nx", "ny", "nz", float32; colours of COFF "red",
/// "green", "blue" (and "alpha", where the first vertex has four), uint8, or float32 where the first vertex writes one
/// with a point. The counts may stand on the line of the keyword, also without a blank between; the number of edges may
/// be missing; what stands behind a vertex's numbers, comments ("#" to the end of the line) and empty lines are
/// skipped. Faces are not read. Throws Error: corrupt (a count that does not fit, too few numbers, each with its line),
/// unsupported (binary files, four-dimensional ones, texture coordinates). Source: Geomview manual, "OFF Files".
const CloudCodec& off_codec();

/// Replaces `mesh` by the vertices and faces of an OFF file, polygons as fans of triangles.
/// Throws Error: as above, and corrupt, where a face names a vertex that is not there.
void read_off_mesh(std::span<const std::byte> bytes, TriangleMesh& mesh);

/// The decoder of off_codec(), which can also draw from the surface.
class OffDecoder : public CloudDecoder {
 public:
  /// Writes (k, 3) float32: points drawn evenly from the surface of the value, by sample_surface(). open() is not
  /// needed before. Throws Error: corrupt, unsupported.
  virtual void surface(const FieldBytes& field, std::size_t k, Random& random, float* xyz) = 0;
};

/// What cloud_decoder() of off_codec() returns, by its own type.
std::unique_ptr<OffDecoder> off_decoder(const DecodeOptions& options = {});

}  // namespace penstock
