#include <algorithm>
#include <cmath>

#include <transforms/image/kernels/filter_weights.hpp>

namespace penstock {
namespace {

// Filters are types, so that the compiler inlines them.
struct Box {
  double operator()(double x) const { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }
};

struct Triangle {
  double operator()(double x) const {
    x = std::abs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
  }
};

// Source: Keys, "Cubic Convolution Interpolation for Digital Image Processing", IEEE ASSP 29(6), 1981.
struct Cubic {
  double operator()(double x) const {
    constexpr double kA = -0.5;
    x = std::abs(x);
    if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
    return 0.0;
  }
};

// Rounds halves away from zero, like Pillow.
std::int32_t fixed_point(double weight) {
  const double scaled = weight * (1 << FilterWeights::kPrecisionBits);
  return static_cast<std::int32_t>(weight < 0 ? -0.5 + scaled : 0.5 + scaled);
}

}  // namespace

void FilterWeights::prepare(const Axis& axis, Interpolation filter) {
  if (axis == axis_ && filter == filter_) return;
  // Cleared first, so that an exception does not leave weights of another axis behind.
  axis_ = {};
  switch (filter) {
    case Interpolation::area:
      compute(axis, support(filter), Box{});
      break;
    case Interpolation::bicubic:
      compute(axis, support(filter), Cubic{});
      break;
    default:
      compute(axis, support(filter), Triangle{});
  }
  axis_ = axis;
  filter_ = filter;
}

template <class Kernel>
void FilterWeights::compute(const Axis& axis, double reach, Kernel kernel) {
  const double scale = axis.box_length / static_cast<double>(axis.grid);
  const double filter_scale = std::max(scale, 1.0);
  const double support = reach * filter_scale;
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
      row_[t] = kernel((static_cast<double>(begin + static_cast<std::int64_t>(t)) - centre + 0.5) * inverse);
      sum += row_[t];
    }
    std::int32_t* values = values_.data() + i * stride_;
    for (std::size_t t = 0; t < taps; ++t) values[t] = fixed_point(sum != 0.0 ? row_[t] / sum : row_[t]);
    begins_[i] = begin;
    counts_[i] = static_cast<std::int64_t>(taps);
  }
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
