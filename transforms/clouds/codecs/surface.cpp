#include <algorithm>
#include <cmath>

#include <penstock/base/error.hpp>
#include <transforms/clouds/codecs/surface.hpp>

namespace penstock {
namespace {

using Corner = std::array<float, 3>;

double area(const Corner& a, const Corner& b, const Corner& c) {
  std::array<double, 3> u{}, v{};
  for (std::size_t i = 0; i < 3; ++i) {
    u[i] = double{b[i]} - a[i];
    v[i] = double{c[i]} - a[i];
  }
  const double x = u[1] * v[2] - u[2] * v[1], y = u[2] * v[0] - u[0] * v[2], z = u[0] * v[1] - u[1] * v[0];
  const double twice = std::sqrt(x * x + y * y + z * z);
  return std::isfinite(twice) ? twice / 2 : 0;
}

}  // namespace

void TriangleMesh::clear() {
  vertices.clear();
  triangles.clear();
}

void TriangleMesh::add_polygon(const std::vector<std::uint32_t>& corners) {
  for (std::size_t i = 2; i < corners.size(); ++i) triangles.push_back({corners[0], corners[i - 1], corners[i]});
}

void sample_surface(const TriangleMesh& mesh, std::size_t k, Random& random, float* xyz) {
  if (k == 0) return;
  std::vector<double> up_to(mesh.triangles.size());  // area of this triangle and those before it
  double total = 0;
  for (std::size_t i = 0; i < up_to.size(); ++i) {
    const auto& [a, b, c] = mesh.triangles[i];
    total += area(mesh.vertices[a], mesh.vertices[b], mesh.vertices[c]);
    up_to[i] = total;
  }
  if (!(total > 0) || !std::isfinite(total)) throw Error::corrupt("the surface has no area");
  for (std::size_t i = 0; i < k; ++i, xyz += 3) {
    // Below the total, even where the product is rounded up to it.
    const double at = std::min(random.uniform() * total, std::nextafter(total, 0.0));
    const auto triangle = std::upper_bound(up_to.begin(), up_to.end(), at) - up_to.begin();
    const auto& [a, b, c] = mesh.triangles[static_cast<std::size_t>(triangle)];
    const double root = std::sqrt(random.uniform()), share = random.uniform();
    const std::array<double, 3> weights{1 - root, root * (1 - share), root * share};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      xyz[axis] = static_cast<float>(weights[0] * mesh.vertices[a][axis] + weights[1] * mesh.vertices[b][axis] +
                                     weights[2] * mesh.vertices[c][axis]);
    }
  }
}

}  // namespace penstock
