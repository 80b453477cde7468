#include <algorithm>
#include <cmath>

#include <penstock/transforms/filter_weights.hpp>

namespace penstock {
namespace {

double triangle(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

}  // namespace

void FilterWeights::prepare(const Axis& axis) {
  if (axis == axis_) return;
  axis_ = {};
  const double scale = axis.box_length / static_cast<double>(axis.grid);
  const double filter_scale = std::max(scale, 1.0);
  const double support = kSupport * filter_scale;
  const double inverse = 1.0 / filter_scale;
  const auto count = static_cast<std::size_t>(axis.count);
  stride_ = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  begins_.resize(count);
  counts_.resize(count);
  values_.resize(count * stride_);
  row_.resize(stride_);
  for (std::size_t i = 0; i < count; ++i) {
    const double centre =
        axis.box_begin + (static_cast<double>(axis.first + static_cast<std::int64_t>(i)) + 0.5) * scale;
    const auto begin = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + 0.5), 0);
    const auto end = std::min(static_cast<std::int64_t>(centre + support + 0.5), axis.visible);
    const auto taps = static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0));
    double sum = 0.0;
    for (std::size_t t = 0; t < taps; ++t) {
      row_[t] = triangle((static_cast<double>(begin + static_cast<std::int64_t>(t)) - centre + 0.5) * inverse);
      sum += row_[t];
    }
    std::int32_t* values = values_.data() + i * stride_;
    for (std::size_t t = 0; t < taps; ++t) {
      const double weight = sum != 0.0 ? row_[t] / sum : row_[t];
      values[t] = static_cast<std::int32_t>(0.5 + weight * (1 << kPrecisionBits));
    }
    begins_[i] = begin;
    counts_[i] = static_cast<std::int64_t>(taps);
  }
  axis_ = axis;
}

void nearest_pixels(const Axis& axis, std::vector<std::int64_t>& pixels) {
  const double scale = axis.box_length / static_cast<double>(axis.grid);
  double position = axis.box_begin + scale * 0.5;
  for (std::int64_t i = 0; i < axis.first; ++i) position += scale;
  pixels.resize(static_cast<std::size_t>(axis.count));
  for (std::int64_t& pixel : pixels) {
    pixel = std::clamp<std::int64_t>(static_cast<std::int64_t>(position), 0, axis.visible - 1);
    position += scale;
  }
}

}  // namespace penstock
