// Describes one colour operation on an image, with its drawn parameters.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

struct PixelBuffer;  // transforms/image/passes/color_ops.hpp

enum class ColorKind : std::uint8_t {
  brightness,    ///< amount: factor
  contrast,      ///< amount: factor
  saturation,    ///< amount: factor
  hue,           ///< amount: shift in turns, -0.5 to 0.5
  grayscale,     ///< amount: 1 leaves one channel, 3 leaves three equal ones
  posterize,     ///< amount: bits kept, 0 to 8
  solarize,      ///< amount: threshold; pixels at or above it are inverted
  sharpness,     ///< amount: factor
  autocontrast,  ///< no amount
  equalize,      ///< no amount
  invert,        ///< no amount
  blur,          ///< amount: standard deviation in pixels
  other,         ///< calls `change`
};

struct ColorOp {
  ColorKind kind;
  double amount = 0;
  std::int32_t kernel_width = 0, kernel_height = 0;  ///< size of the blur kernel, odd
  /// Changes the image in place. `scratch` belongs to the worker, and its content is arbitrary.
  void (*change)(const ColorOp& op, PixelBuffer& picture, std::vector<std::uint8_t>& scratch) = nullptr;
  friend bool operator==(const ColorOp&, const ColorOp&) = default;
};

constexpr std::string_view name(ColorKind kind) {
  constexpr std::string_view kNames[] = {"brightness", "contrast", "saturation", "hue",          "grayscale",
                                         "posterize",  "solarize", "sharpness",  "autocontrast", "equalize",
                                         "invert",     "blur",     "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace penstock
