// points.random_rotate(): a random rotation of a cloud.
#pragma once

#include <cstdint>

#include <penstock/transforms/chain/step.hpp>

namespace penstock::step {
struct RandomRotate {
  enum class About : std::uint8_t { z, free };
  About about = About::z;
  static const StepTable& table();
  void apply(PointBuffer& cloud, Random& random) const;
};
}  // namespace penstock::step

namespace penstock::points {
/// A rotation by a random angle about "z", or any rotation ("free", uniform). Normals (attributes nx, ny, nz that stand
/// side by side) turn with the points.
Chain random_rotate(const std::string& about = "z");
}  // namespace penstock::points
