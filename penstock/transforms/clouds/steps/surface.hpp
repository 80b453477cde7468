// points.surface(): points on the triangles of a mesh.
#pragma once

#include <cstdint>

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct Surface {
  std::int64_t points;
  static const StepTable& table();
  static constexpr Traits kTraits{.domain = Domain::points};
};
}  // namespace penstock::step

namespace penstock::points {
/// `points` new points, uniform on the triangles of a mesh (OFF). Comes first, or after decode() without attributes;
/// the points are new ones, so that nothing can follow them.
inline Chain surface(std::int64_t points) {
  return one_step(step::Surface{.points = points});
}
}  // namespace penstock::points
