#include <transforms/image/kernels/resample_axes.hpp>

namespace penstock {

Axis horizontal_axis(const Geometry& g) {
  return {g.box_x - static_cast<double>(g.visible.x),
          g.box_width,
          g.visible.width,
          g.grid.width,
          g.window.x,
          g.window.width};
}

Axis vertical_axis(const Geometry& g) {
  return {g.box_y - static_cast<double>(g.visible.y),
          g.box_height,
          g.visible.height,
          g.grid.height,
          g.window.y,
          g.window.height};
}

bool vertical_first(const Geometry& g) {
  const std::int64_t lost_rows = g.visible.height - g.grid.height;
  return lost_rows > 0 && lost_rows > (g.visible.width - g.grid.width) * 2;
}

}  // namespace penstock
