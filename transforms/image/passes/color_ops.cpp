#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include <base/numbers/portable_math.hpp>
#include <penstock/error.hpp>
#include <transforms/image/kernels/color_rows.hpp>
#include <transforms/image/passes/color_ops.hpp>

namespace penstock {
namespace {

using Histogram = std::array<std::uint32_t, 256>;
using Table = std::array<std::uint8_t, 256>;

std::size_t pixels_of(const PixelBuffer& picture) {
  return static_cast<std::size_t>(picture.size.width * picture.size.height);
}

Histogram histogram(const PixelBuffer& picture, std::size_t channel) {
  std::array<Histogram, 4> counts{};  // separate counters, so that equal neighbours do not wait for each other
  const auto step = static_cast<std::size_t>(picture.channels);
  const std::size_t count = pixels_of(picture);
  for (std::size_t i = 0; i < count; ++i) ++counts[i % 4][picture.data[i * step + channel]];
  for (std::size_t value = 0; value < 256; ++value)
    counts[0][value] += counts[1][value] + counts[2][value] + counts[3][value];
  return counts[0];
}

// Source: Pillow 13, ImageOps.autocontrast without a cutoff.
Table stretched(const Histogram& counts) {
  Table table;
  std::iota(table.begin(), table.end(), std::uint8_t{0});
  const auto used = [](std::uint32_t count) { return count != 0; };
  const auto low = std::find_if(counts.begin(), counts.end(), used) - counts.begin();
  const auto high = 255 - (std::find_if(counts.rbegin(), counts.rend(), used) - counts.rbegin());
  if (high <= low) return table;
  const double scale = 255.0 / static_cast<double>(high - low), offset = static_cast<double>(-low) * scale;
  for (std::size_t i = 0; i < 256; ++i) {
    table[i] = static_cast<std::uint8_t>(std::clamp(static_cast<double>(i) * scale + offset, 0.0, 255.0));
  }
  return table;
}

// Source: Pillow 13, ImageOps.equalize.
Table flattened(const Histogram& counts) {
  Table table;
  std::iota(table.begin(), table.end(), std::uint8_t{0});
  std::uint64_t sum = 0, last = 0;
  for (const std::uint32_t count : counts) {
    sum += count;
    if (count != 0) last = count;
  }
  const std::uint64_t step = (sum - last) / 255;
  if (step == 0) return table;
  std::uint64_t n = step / 2;
  for (std::size_t i = 0; i < 256; ++i) {
    table[i] = static_cast<std::uint8_t>(std::min<std::uint64_t>(n / step, 255));
    n += counts[i];
  }
  return table;
}

template <typename MakeTable>
void look_up(const PixelBuffer& picture, MakeTable make_table) {
  std::array<Table, 3> tables;
  const auto channels = static_cast<std::size_t>(picture.channels);
  for (std::size_t c = 0; c < channels; ++c) tables[c] = make_table(histogram(picture, c));
  std::uint8_t* end = picture.data + picture.bytes();
  for (std::uint8_t* pixel = picture.data; pixel != end; pixel += channels) {
    for (std::size_t c = 0; c < channels; ++c) pixel[c] = tables[c][pixel[c]];
  }
}

// Source: torchvision, transforms/v2/functional/_misc.py, _get_gaussian_kernel1d: softmax(-x^2), in float32.
void make_kernel(std::int32_t taps, double sigma, std::vector<float>& kernel) {
  kernel.resize(static_cast<std::size_t>(taps));
  double sum = 0;
  for (std::int32_t t = 0; t < taps; ++t) {
    const double x = (t - (taps - 1) / 2) / (std::sqrt(2.0) * sigma);
    sum += portable::exp(-x * x);
  }
  for (std::int32_t t = 0; t < taps; ++t) {
    const double x = (t - (taps - 1) / 2) / (std::sqrt(2.0) * sigma);
    kernel[static_cast<std::size_t>(t)] = static_cast<float>(portable::exp(-x * x) / sum);
  }
}

void desaturate(PixelBuffer& picture, bool one_channel) {
  if (picture.channels == 1) return;
  if (!one_channel) return color_rows::gray(picture.data, pixels_of(picture));
  color_rows::luma(picture.data, pixels_of(picture), picture.data);
  picture.channels = 1;
}

}  // namespace

void ColorRunner::run(const ColorOp& op, PixelBuffer& picture) {
  const auto factor = static_cast<float>(op.amount);
  const bool color = picture.channels == 3;
  switch (op.kind) {
    case ColorKind::brightness:
      return color_rows::blend(picture.data, picture.bytes(), 0, factor);
    case ColorKind::contrast:
      return contrast(picture, factor);
    case ColorKind::saturation:
      if (color) color_rows::blend_luma(picture.data, pixels_of(picture), factor);
      return;
    case ColorKind::hue:
      // Truncates towards zero, then takes the number modulo 256, like NumPy's conversion to a byte.
      if (color) {
        const auto shift = static_cast<std::uint8_t>(static_cast<int>(op.amount * 255));
        color_rows::shift_hue(picture.data, pixels_of(picture), shift);
      }
      return;
    case ColorKind::grayscale:
      return desaturate(picture, op.amount < 2);
    case ColorKind::posterize: {
      const auto mask = static_cast<std::uint8_t>(0xFF00U >> static_cast<unsigned>(op.amount));
      return color_rows::keep_bits(picture.data, picture.bytes(), mask);
    }
    case ColorKind::solarize:
      if (op.amount > 255) return;
      return color_rows::invert_from(picture.data, picture.bytes(),
                                     static_cast<std::uint8_t>(std::ceil(std::max(op.amount, 0.0))));
    case ColorKind::sharpness:
      return sharpen(picture, factor);
    case ColorKind::autocontrast:
      return look_up(picture, stretched);
    case ColorKind::equalize:
      return look_up(picture, flattened);
    case ColorKind::invert:
      return color_rows::invert_from(picture.data, picture.bytes(), 0);
    case ColorKind::blur:
      return blur(op, picture);
    case ColorKind::other:
      return op.change(op, picture, scratch_);
  }
}

// Blends with the rounded mean of the luma.
void ColorRunner::contrast(const PixelBuffer& picture, float factor) {
  const std::size_t count = pixels_of(picture);
  const std::uint8_t* luma = picture.data;
  if (picture.channels == 3) {
    scratch_.resize(std::max(scratch_.size(), count));
    color_rows::luma(picture.data, count, scratch_.data());
    luma = scratch_.data();
  }
  const auto sum = std::accumulate(luma, luma + count, std::uint64_t{0});
  const double mean = static_cast<double>(sum) / static_cast<double>(count);
  color_rows::blend(picture.data, picture.bytes(), static_cast<std::uint8_t>(mean + 0.5), factor);
}

// Pillow leaves images with fewer than three rows or columns unchanged when it smooths.
void ColorRunner::sharpen(const PixelBuffer& picture, float factor) {
  if (picture.size.width < 3 || picture.size.height < 3) return;
  const std::size_t stride = picture.bytes() / static_cast<std::size_t>(picture.size.height);
  scratch_.resize(std::max(scratch_.size(), picture.bytes() + color_rows::kSpare));
  std::memcpy(scratch_.data(), picture.data, stride);
  const auto rows = static_cast<std::size_t>(picture.size.height);
  for (std::size_t y = 1; y + 1 < rows; ++y) {
    const std::uint8_t* row = picture.data + y * stride;
    color_rows::smooth(row - stride, row, row + stride, static_cast<std::size_t>(picture.channels),
                       static_cast<std::size_t>(picture.size.width), scratch_.data() + y * stride);
  }
  std::memcpy(scratch_.data() + (rows - 1) * stride, picture.data + (rows - 1) * stride, stride);
  color_rows::blend_each(picture.data, picture.bytes(), scratch_.data(), factor);
}

void ColorRunner::blur(const ColorOp& op, const PixelBuffer& picture) {
  const std::int64_t reach_x = op.kernel_width / 2, reach_y = op.kernel_height / 2;
  if (reach_x >= picture.size.width || reach_y >= picture.size.height) {
    throw Error::shape("image.gaussian_blur() with a kernel of " + std::to_string(op.kernel_width) + " x " +
                       std::to_string(op.kernel_height) + " does not fit an image of " +
                       std::to_string(picture.size.width) + " x " + std::to_string(picture.size.height) + " pixels");
  }
  make_kernel(op.kernel_width, op.amount, across_);
  make_kernel(op.kernel_height, op.amount, down_);
  const auto channels = static_cast<std::size_t>(picture.channels);
  const auto width = static_cast<std::size_t>(picture.size.width), margin = static_cast<std::size_t>(reach_x);
  const std::size_t stride = width * channels;
  scratch_.resize(std::max(scratch_.size(), picture.bytes() + color_rows::kSpare));
  std::memcpy(scratch_.data(), picture.data, picture.bytes());
  sums_.resize(std::max(sums_.size(), (width + 2 * margin) * channels + color_rows::kSpare));
  rows_.resize(down_.size());
  float* sums = sums_.data() + margin * channels;
  for (std::int64_t y = 0; y < picture.size.height; ++y) {
    for (std::int64_t t = 0; t < std::ssize(rows_); ++t) {
      const std::int64_t row = std::abs(y - reach_y + t), last = picture.size.height - 1;
      rows_[static_cast<std::size_t>(t)] =
          scratch_.data() + static_cast<std::size_t>(row > last ? 2 * last - row : row) * stride;
    }
    color_rows::blur_down(rows_.data(), down_.data(), down_.size(), stride, sums);
    for (std::size_t x = 1; x <= margin; ++x) {
      std::memcpy(sums - x * channels, sums + x * channels, channels * sizeof(float));
      std::memcpy(sums + (width - 1 + x) * channels, sums + (width - 1 - x) * channels, channels * sizeof(float));
    }
    color_rows::blur_across(sums_.data(), across_.data(), across_.size(), channels, stride,
                            picture.data + static_cast<std::size_t>(y) * stride);
  }
}

}  // namespace penstock
