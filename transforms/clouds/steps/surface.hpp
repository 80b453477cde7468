// points.surface(): of a mesh (OFF): uniform on its triangles.
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
inline Chain surface(std::int64_t points) {
  return one_step(step::Surface{.points = points});
}
}  // namespace penstock::points
