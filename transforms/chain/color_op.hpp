// Describes one change of the colors of an image, with what was drawn for it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

struct PixelBuffer;  // transforms/image/passes/color_ops.hpp

enum class ColorKind : std::uint8_t {
  brightness,    ///< amount: factor
  contrast,      ///< factor
  saturation,    ///< factor
  hue,           ///< shift in turns, -0.5 to 0.5
  grayscale,     ///< 1: one channel is left; 3: three equal ones
  posterize,     ///< bits kept, 0 to 8
  solarize,      ///< threshold: pixels not below it are inverted
  sharpness,     ///< factor
  autocontrast,  ///< (no amount)
  equalize,      ///< (no amount)
  invert,        ///< (no amount)
  blur,          ///< deviation in pixels
  other,         ///< what `change` does
};

struct ColorOp {
  ColorKind kind;
  double amount = 0;
  std::int32_t kernel_width = 0, kernel_height = 0;  ///< of a blur, odd
  /// Changes the picture in place; `scratch` is the worker's, with anything in it.
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
