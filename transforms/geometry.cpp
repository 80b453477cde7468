#include <algorithm>
#include <cmath>
#include <string>

#include <penstock/error.hpp>
#include <penstock/geometry.hpp>

namespace penstock {
namespace {

/// [begin, end) along one axis.
struct Span {
  std::int64_t begin, end;
};

Span clipped(Span span, std::int64_t begin, std::int64_t end) {
  return {std::clamp(span.begin, begin, end), std::clamp(span.end, begin, end)};
}

/// Returns the source pixels under a filter for the grid's pixels [first, first + count), counted from the first
/// visible pixel. Source: Pillow 13, precompute_coeffs. The arithmetic equals that of filter_weights.cpp to the last
/// bit.
Span taps(double box_begin, double box_length, std::int64_t grid, std::int64_t first, std::int64_t count,
          double support) {
  const double scale = box_length / static_cast<double>(grid);
  const double reach = support > 0 ? support * std::max(scale, 1.0) : 1.0;
  const double first_centre = box_begin + (static_cast<double>(first) + 0.5) * scale;
  const double last_centre = box_begin + (static_cast<double>(first + count) - 0.5) * scale;
  return {static_cast<std::int64_t>(std::floor(first_centre - reach + 0.5)),
          static_cast<std::int64_t>(std::floor(last_centre + reach + 0.5))};
}

std::string text(const Region& region) {
  return std::to_string(region.width) + " x " + std::to_string(region.height) + " at (" + std::to_string(region.x) +
         ", " + std::to_string(region.y) + ")";
}

}  // namespace

Geometry Geometry::identity(Size source) {
  const Region all{0, 0, source.width, source.height};
  return {.source = source,
          .visible = all,
          .box_width = static_cast<double>(source.width),
          .box_height = static_cast<double>(source.height),
          .grid = source,
          .window = all};
}

bool Geometry::resamples() const {
  return box_width != static_cast<double>(grid.width) || box_height != static_cast<double>(grid.height) ||
         box_x != std::floor(box_x) || box_y != std::floor(box_y);
}

Geometry Geometry::cropped(Region region) const {
  if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 || region.x > window.width - region.width ||
      region.y > window.height - region.height) {
    throw Error::shape("a crop of " + text(region) + " does not fit an image of " + std::to_string(window.width) +
                       " x " + std::to_string(window.height));
  }
  Geometry result = *this;
  const std::int64_t x = flip ? window.width - region.x - region.width : region.x;
  const std::int64_t y = flip_vertical ? window.height - region.y - region.height : region.y;
  result.window = {window.x + x, window.y + y, region.width, region.height};
  return result;
}

Geometry Geometry::resized(Size size, Interpolation filter) const {
  if (size.width < 1 || size.height < 1) throw Error::shape("an image cannot be resized to less than one pixel");
  if (size == output()) return *this;
  const double scale_x = box_width / static_cast<double>(grid.width);
  const double scale_y = box_height / static_cast<double>(grid.height);
  Geometry result = *this;
  result.interpolation = filter;
  result.box_x = box_x + static_cast<double>(window.x) * scale_x;
  result.box_y = box_y + static_cast<double>(window.y) * scale_y;
  result.box_width = static_cast<double>(window.width) * scale_x;
  result.box_height = static_cast<double>(window.height) * scale_y;
  result.grid = size;
  result.window = {0, 0, size.width, size.height};
  const Span x = clipped({static_cast<std::int64_t>(std::floor(result.box_x)),
                          static_cast<std::int64_t>(std::ceil(result.box_x + result.box_width))},
                         visible.x, visible.x + visible.width);
  const Span y = clipped({static_cast<std::int64_t>(std::floor(result.box_y)),
                          static_cast<std::int64_t>(std::ceil(result.box_y + result.box_height))},
                         visible.y, visible.y + visible.height);
  result.visible = {x.begin, y.begin, x.end - x.begin, y.end - y.begin};
  return result;
}

Geometry Geometry::flipped() const {
  Geometry result = *this;
  result.flip = !flip;
  return result;
}

Geometry Geometry::flipped_vertically() const {
  Geometry result = *this;
  result.flip_vertical = !flip_vertical;
  return result;
}

Region Geometry::needed(double support) const {
  if (!resamples()) {
    return {static_cast<std::int64_t>(box_x) + window.x, static_cast<std::int64_t>(box_y) + window.y, window.width,
            window.height};
  }
  const Span x =
      clipped(taps(box_x - static_cast<double>(visible.x), box_width, grid.width, window.x, window.width, support), 0,
              visible.width);
  const Span y =
      clipped(taps(box_y - static_cast<double>(visible.y), box_height, grid.height, window.y, window.height, support),
              0, visible.height);
  return {visible.x + x.begin, visible.y + y.begin, x.end - x.begin, y.end - y.begin};
}

void Geometry::map_point(double& x, double& y) const {
  x = (x - box_x) * static_cast<double>(grid.width) / box_width - static_cast<double>(window.x);
  y = (y - box_y) * static_cast<double>(grid.height) / box_height - static_cast<double>(window.y);
  if (flip) x = static_cast<double>(window.width) - x;
  if (flip_vertical) y = static_cast<double>(window.height) - y;
}

}  // namespace penstock
