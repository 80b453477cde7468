// Changes the colors of whole images, as Pillow and torchvision define it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <penstock/geometry.hpp>
#include <transforms/chain/color_op.hpp>

namespace penstock {

/// uint8 pixels, channels interleaved, with color_rows::kSpare bytes behind them that may be overwritten.
struct PixelBuffer {
  std::uint8_t* data;
  Size size;
  std::int64_t channels;  ///< 1 or 3
  std::size_t bytes() const { return static_cast<std::size_t>(size.width * size.height * channels); }
};

/// One per worker: owns scratch, which is reused from call to call.
///
/// Equal to Pillow 13 to the last bit: ImageEnhance's Brightness, Contrast, Color and Sharpness, ImageOps' posterize,
/// solarize, autocontrast, equalize and invert, convert("L"), and for hue the way by HSV of torchvision's adjust_hue.
/// A blur is torchvision's gaussian_blur: a float32 kernel, reflected edges, rounded to nearest even; its sums are
/// taken along columns, then along rows, so pixels differ by one level where the sum lies within 1e-4 of a half.
class ColorRunner {
 public:
  /// Changes the picture in place; grayscale to 1 channel leaves fewer bytes.
  /// Throws Error: shape, for a blur whose kernel reaches beyond the mirrored image.
  void run(const ColorOp& op, PixelBuffer& picture);

 private:
  void contrast(const PixelBuffer& picture, float factor);
  void sharpen(const PixelBuffer& picture, float factor);
  void blur(const ColorOp& op, const PixelBuffer& picture);

  std::vector<std::uint8_t> scratch_;
  std::vector<const std::uint8_t*> rows_;
  std::vector<float> sums_, down_, across_;
};

}  // namespace penstock
