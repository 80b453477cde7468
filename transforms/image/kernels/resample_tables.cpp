#include <algorithm>

#include <transforms/image/kernels/resample_axes.hpp>
#include <transforms/image/kernels/resample_tables.hpp>

namespace penstock {
namespace {

constexpr std::int32_t kOne = 1 << FilterWeights::kPrecisionBits;

void append_pixels(std::int64_t visible_begin, const std::vector<std::int64_t>& pixels,
                   std::vector<std::int32_t>& numbers) {
  for (const std::int64_t pixel : pixels) numbers.push_back(static_cast<std::int32_t>(visible_begin + pixel));
  numbers.insert(numbers.end(), pixels.size(), kOne);
}

// Output pixels near an edge have fewer taps. Their taps begin earlier here, with weights of zero.
std::int32_t append_weights(const Axis& axis, std::int64_t visible_begin, const FilterWeights& weights,
                            std::vector<std::int32_t>& numbers) {
  std::size_t taps = 1;
  for (std::int64_t i = 0; i < axis.count; ++i) taps = std::max(taps, weights.weights(i).size());
  const std::int64_t last = axis.visible - static_cast<std::int64_t>(taps);
  const auto begin_of = [&](std::int64_t i) { return std::clamp<std::int64_t>(weights.begin(i), 0, last); };
  for (std::int64_t i = 0; i < axis.count; ++i)
    numbers.push_back(static_cast<std::int32_t>(visible_begin + begin_of(i)));
  for (std::int64_t i = 0; i < axis.count; ++i) {
    const std::span<const std::int32_t> row = weights.weights(i);
    const std::size_t at = numbers.size() + static_cast<std::size_t>(weights.begin(i) - begin_of(i));
    numbers.resize(numbers.size() + taps, 0);
    std::ranges::copy(row, numbers.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return static_cast<std::int32_t>(taps);
}

std::vector<std::int64_t> counted(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> pixels;
  for (std::int64_t i = 0; i < count; ++i) pixels.push_back(first + i);
  return pixels;
}

}  // namespace

void ResampleTabulator::tabulate(const Geometry& geometry, ResampleTables& tables) {
  tables.numbers.clear();
  tables.taps_x = tables.taps_y = 1;
  tables.vertical_first = false;
  tables.flip = geometry.flip;
  tables.flip_vertical = geometry.flip_vertical;
  if (!geometry.resamples()) {
    const Region from = geometry.needed(0);
    append_pixels(from.x, counted(0, from.width), tables.numbers);
    append_pixels(from.y, counted(0, from.height), tables.numbers);
    return;
  }
  const Axis across = horizontal_axis(geometry), down = vertical_axis(geometry);
  if (geometry.interpolation == Interpolation::nearest) {
    nearest_pixels(across, pixels_);
    append_pixels(geometry.visible.x, pixels_, tables.numbers);
    nearest_pixels(down, pixels_);
    append_pixels(geometry.visible.y, pixels_, tables.numbers);
    return;
  }
  horizontal_.prepare(across, geometry.interpolation);
  vertical_.prepare(down, geometry.interpolation);
  tables.vertical_first = vertical_first(geometry);
  tables.taps_x = append_weights(across, geometry.visible.x, horizontal_, tables.numbers);
  tables.taps_y = append_weights(down, geometry.visible.y, vertical_, tables.numbers);
}

}  // namespace penstock
