// Changes the colours of whole images, as Pillow and torchvision define it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <penstock/geometry.hpp>
#include <transforms/chain/color_op.hpp>

namespace penstock {

/// uint8 pixels with interleaved channels. color_rows::kSpare bytes after them may be overwritten.
struct PixelBuffer {
  std::uint8_t* data;
  Size size;
  std::int64_t channels;  ///< 1 or 3
  std::size_t bytes() const { return static_cast<std::size_t>(size.width * size.height * channels); }
};

/// Owns scratch memory, which is reused from call to call. Each worker needs its own runner.
///
/// Results equal Pillow 13 to the last bit: ImageEnhance's Brightness, Contrast, Color and Sharpness, ImageOps'
/// posterize, solarize, autocontrast, equalize and invert, and convert("L"). Hue follows the HSV variant of
/// torchvision's adjust_hue. A blur is torchvision's gaussian_blur: a float32 kernel, reflected edges, rounded to
/// nearest even. Its sums are taken along columns, then along rows. Pixels may therefore differ by one level if the sum
/// is within 1e-4 of a half.
class ColorRunner {
 public:
  /// Changes the image in place. Grayscale to one channel leaves fewer bytes.
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
