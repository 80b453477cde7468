// Recodes images as pixels of one size during packing, so that loading them is a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <penstock/recoding.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Parses the value of --decode, "[FIELD,...=]SIZE". SIZE is "224" or "HEIGHTxWIDTH": the image is resized (antialiased
/// bilinear) until it just covers that size, and the centre is cut out. SIZE "same" means that all images have one size
/// and keep it; "same:HEIGHTxWIDTH" names the size. An empty text keeps images encoded. Throws Error: invalid_argument.
PixelRecoding pixel_recoding(std::string_view text);
/// Returns the text that pixel_recoding() parses.
std::string decode_text(const PixelRecoding& recoding);

/// Owns decoders and scratch memory, reused from image to image. Each thread needs its own recoder.
class PixelRecoder {
 public:
  /// `recoding` must have fields and a size.
  explicit PixelRecoder(const PixelRecoding& recoding);
  ~PixelRecoder();
  PixelRecoder(PixelRecoder&&) noexcept;

  /// Returns uint8 (height, width, 3), RGB like Pillow's convert("RGB"), valid until the next call. The image is
  /// upright, by its EXIF orientation. A square size gives the pixels of image.resize(size) | image.center_crop(size).
  /// Throws Error: corrupt, unsupported; shape, if the value is not an image, or has another size and is not to be
  /// fitted.
  std::span<const std::byte> recode(const FieldSchema& field, std::span<const std::byte> value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
