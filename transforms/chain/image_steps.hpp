// Describes the steps of chains for images; see image:: in chain.hpp for what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <penstock/transforms/chain/color_op.hpp>
#include <penstock/transforms/chain/interpolation.hpp>

namespace penstock {

/// What stands beyond the edges of an image. Source: torchvision.transforms.v2.Pad.
enum class PaddingMode : std::uint8_t {
  constant,   ///< the fill
  edge,       ///< the outermost pixel
  reflect,    ///< the image mirrored, without its outermost pixel again: 3 2 1 2 3 4 3 2
  symmetric,  ///< the image mirrored: 2 1 1 2 3 4 4 3
};

constexpr std::string_view name(PaddingMode mode) {
  constexpr std::string_view kNames[] = {"constant", "edge", "reflect", "symmetric"};
  return kNames[static_cast<std::size_t>(mode)];
}

/// Pixels added at each side.
struct Padding {
  std::int64_t left = 0, top = 0, right = 0, bottom = 0;
  static constexpr Padding all(std::int64_t pixels) { return {pixels, pixels, pixels, pixels}; }
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// A uniform draw from [low, high).
struct Range {
  double low = 0, high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// 0 to 255: one number for all channels, or one for each.
using Fill = std::vector<std::int64_t>;

namespace step {
struct RandomResizedCrop {
  std::int64_t width, height;
  double scale_min, scale_max, ratio_min, ratio_max;
  Interpolation interpolation = Interpolation::bilinear;
};
struct Resize {
  std::int64_t short_side, width, height;  ///< short_side 0: exactly width x height
  Interpolation interpolation = Interpolation::bilinear;
};
struct CenterCrop {
  std::int64_t width, height;
};
struct RandomCrop {
  std::int64_t width, height;
  Padding padding;
  bool pad_if_needed;
  PaddingMode mode;
  Fill fill;
};
struct PadImage {
  Padding padding;
  PaddingMode mode;
  Fill fill;
};
struct RandomFlip {
  double probability;
};
struct RandomVerticalFlip {
  double probability;
};
struct RandomRotation {
  Range degrees;
  Interpolation interpolation;
  Fill fill;
};
struct RandomAffine {
  Range degrees;
  double translate_x, translate_y;  ///< at most this part of the width and height, to either side
  Range scale, shear_x, shear_y;    ///< degrees of shear
  Interpolation interpolation;
  Fill fill;
};
struct ColorJitter {
  Range brightness, contrast, saturation, hue;  ///< (1, 1), and (0, 0) of hue: left alone
  double probability;
};
struct Grayscale {
  std::int64_t channels;  ///< 1 or 3
};
/// One change of colors, or none: grayscale, posterize, solarize, sharpness, autocontrast, equalize, invert.
struct RandomColor {
  ColorKind kind;
  double amount;
  double probability;
};
struct GaussianBlur {
  std::int64_t kernel_width, kernel_height;
  Range sigma;
  double probability;
};
struct RandAugment {
  std::int64_t num_ops, magnitude, bins;
  Interpolation interpolation;
  Fill fill;
};
struct TrivialAugment {
  std::int64_t bins;
  Interpolation interpolation;
  Fill fill;
};
struct RandomErasing {
  double probability;
  Range scale, ratio;
  std::vector<double> value;  ///< one number, or one for each channel; empty: normally distributed ones
};
}  // namespace step

}  // namespace penstock
