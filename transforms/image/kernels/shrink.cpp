#include <algorithm>

#include <transforms/image/kernels/shrink.hpp>

namespace penstock {

unsigned shrink_denominator(const Geometry& geometry) {
  const double across = geometry.box_width / static_cast<double>(geometry.grid.width);
  const double down = geometry.box_height / static_cast<double>(geometry.grid.height);
  for (const unsigned denominator : {8U, 4U, 2U}) {
    if (std::min(across, down) >= static_cast<double>(denominator)) return denominator;
  }
  return 1;
}

Size shrunk_size(Size size, unsigned denominator) {
  const auto by = static_cast<std::int64_t>(denominator);
  return {(size.width + by - 1) / by, (size.height + by - 1) / by};
}

Geometry shrunk(const Geometry& geometry, Size size, unsigned denominator) {
  const auto by = static_cast<std::int64_t>(denominator);
  Geometry less = geometry;
  less.source = size;
  less.visible.x = geometry.visible.x / by;
  less.visible.y = geometry.visible.y / by;
  const std::int64_t right = (geometry.visible.x + geometry.visible.width + by - 1) / by;
  const std::int64_t bottom = (geometry.visible.y + geometry.visible.height + by - 1) / by;
  less.visible.width = std::min(right, size.width) - less.visible.x;
  less.visible.height = std::min(bottom, size.height) - less.visible.y;
  less.box_x /= denominator;
  less.box_y /= denominator;
  less.box_width /= denominator;
  less.box_height /= denominator;
  return less;
}

}  // namespace penstock
