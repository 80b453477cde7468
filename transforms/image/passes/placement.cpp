#include <algorithm>
#include <limits>

#include <transforms/image/kernels/shrink.hpp>
#include <transforms/image/passes/placement.hpp>

namespace penstock {
namespace {

Size output_of(const Pass& pass, Size before) {
  if (const auto* geometry = std::get_if<Geometry>(&pass)) return geometry->output();
  if (const auto* frame = std::get_if<Frame>(&pass)) return frame->output();
  if (const auto* warp = std::get_if<Warp>(&pass)) return warp->output();
  return before;
}

Region all_of(Size size) {
  return {0, 0, size.width, size.height};
}

double reach_of(const Geometry& geometry, bool masks) {
  return support(masks ? Interpolation::nearest : geometry.interpolation);
}

// Returns the part of a pass's input that the pass reads.
Region input_of(const Pass& pass, Size input, bool masks) {
  if (const auto* geometry = std::get_if<Geometry>(&pass)) return geometry->needed(reach_of(*geometry, masks));
  if (const auto* frame = std::get_if<Frame>(&pass)) return frame->needed();
  if (const auto* warp = std::get_if<Warp>(&pass)) return warp->needed();
  return all_of(input);
}

template <typename Work>
void on_geometric(const Pass& pass, Work work) {
  if (const auto* geometry = std::get_if<Geometry>(&pass)) return work(*geometry);
  if (const auto* frame = std::get_if<Frame>(&pass)) return work(*frame);
  if (const auto* warp = std::get_if<Warp>(&pass)) return work(*warp);
}

}  // namespace

void Placement::begin(Size source) {
  source_ = source;
  passes_.clear();
}

Size Placement::output() const {
  Size size = source_;
  for (const Pass& pass : passes_) size = output_of(pass, size);
  return size;
}

Geometry& Placement::tail() {
  if (passes_.empty() || !std::holds_alternative<Geometry>(passes_.back()))
    passes_.emplace_back(Geometry::identity(output()));
  return std::get<Geometry>(passes_.back());
}

void Placement::crop(const Region& region) {
  Region* window = nullptr;
  if (!passes_.empty()) {
    if (auto* frame = std::get_if<Frame>(&passes_.back())) window = &frame->window;
    if (auto* warp = std::get_if<Warp>(&passes_.back())) window = &warp->window;
  }
  if (window == nullptr) {
    tail() = tail().cropped(region);
    return;
  }
  const Region inside = Geometry::identity({window->width, window->height}).cropped(region).window;  // may throw
  *window = {window->x + inside.x, window->y + inside.y, inside.width, inside.height};
}

void Placement::resize(Size size, Interpolation interpolation) {
  tail() = tail().resized(size, interpolation);
}

void Placement::flip() {
  tail() = tail().flipped();
}

void Placement::flip_vertically() {
  tail() = tail().flipped_vertically();
}

void Placement::pad(const Padding& padding, PaddingMode mode, const std::array<std::uint8_t, 4>& fill) {
  const Size inner = output();
  passes_.emplace_back(Frame{.inner = inner,
                             .window = {-padding.left, -padding.top, inner.width + padding.left + padding.right,
                                        inner.height + padding.top + padding.bottom},
                             .mode = mode,
                             .fill = fill});
}

void Placement::warp(const Affine& matrix, Interpolation interpolation, const std::array<std::uint8_t, 4>& fill) {
  const Size inner = output();
  passes_.emplace_back(
      Warp{.inner = inner, .matrix = matrix, .interpolation = interpolation, .fill = fill, .window = all_of(inner)});
}

Geometry Placement::geometry() const {
  const auto* first = passes_.empty() ? nullptr : std::get_if<Geometry>(&passes_.front());
  return first == nullptr ? Geometry::identity(source_) : *first;
}

bool Placement::flipped() const {
  bool flipped = false;
  for (const Pass& pass : passes_) {
    if (const auto* geometry = std::get_if<Geometry>(&pass)) flipped ^= geometry->flip;
  }
  return flipped;
}

bool Placement::flipped_vertically() const {
  bool flipped = false;
  for (const Pass& pass : passes_) {
    if (const auto* geometry = std::get_if<Geometry>(&pass)) flipped ^= geometry->flip_vertical;
  }
  return flipped;
}

Region Placement::wanted_of(std::size_t number, bool masks) const {
  Size size = source_;
  for (std::size_t i = 0; i <= number; ++i) size = output_of(passes_[i], size);
  std::size_t next = number + 1;
  while (masks && next < passes_.size() && std::holds_alternative<ColorOp>(passes_[next])) ++next;
  return next < passes_.size() ? input_of(passes_[next], size, masks) : all_of(size);
}

Region Placement::needed(bool masks) const {
  std::size_t first = 0;
  while (masks && first + 1 < passes_.size() && std::holds_alternative<ColorOp>(passes_[first])) ++first;
  const auto* geometry = std::get_if<Geometry>(&passes_.at(first));
  if (geometry == nullptr) return input_of(passes_[first], source_, masks);
  const Geometry part = first + 1 == passes_.size() ? *geometry : geometry->cropped(wanted_of(first, masks));
  return part.needed(reach_of(part, masks));
}

void Placement::shrink(Size size, unsigned denominator) {
  source_ = size;
  auto& first = std::get<Geometry>(passes_.at(0));
  first = shrunk(first, size, denominator);
}

void Placement::map_point(double& x, double& y) const {
  for (const Pass& pass : passes_) {
    on_geometric(pass, [&](const auto& place) { place.map_point(x, y); });
  }
}

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Replaces the box by the bounding box of its mapped corners, clamped to [0, bound].
template <typename Place>
void turn_box(const Place& place, double* box, double low_bound, double width, double height) {
  double low[2] = {}, high[2] = {};
  for (int corner = 0; corner < 4; ++corner) {
    double at[2] = {box[corner % 2 == 0 ? 0 : 2], box[corner < 2 ? 1 : 3]};
    place.map_point(at[0], at[1]);
    for (int axis = 0; axis < 2; ++axis) {
      low[axis] = corner == 0 ? at[axis] : std::min(low[axis], at[axis]);
      high[axis] = corner == 0 ? at[axis] : std::max(high[axis], at[axis]);
    }
  }
  const double most[2] = {width, height};
  for (int axis = 0; axis < 2; ++axis) {
    box[axis] = std::clamp(low[axis], low_bound, most[axis]);
    box[axis + 2] = std::clamp(high[axis], low_bound, most[axis]);
  }
}

}  // namespace

void Placement::map_box(double* box) const {
  for (const Pass& pass : passes_) {
    on_geometric(pass, [&](const auto& place) {
      const Size size = place.output();
      turn_box(place, box, 0.0, static_cast<double>(size.width), static_cast<double>(size.height));
    });
  }
}

double Placement::unclipped_area(const double* box) const {
  double turned[4] = {box[0], box[1], box[2], box[3]};
  for (const Pass& pass : passes_) {
    on_geometric(pass, [&](const auto& place) { turn_box(place, turned, -kUnbounded, kUnbounded, kUnbounded); });
  }
  return (turned[2] - turned[0]) * (turned[3] - turned[1]);
}

}  // namespace penstock
