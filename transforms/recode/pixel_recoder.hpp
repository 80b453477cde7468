// Recodes images as pixels of one size when a dataset is packed, so that loading them is a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <penstock/recoding.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// What --decode takes, "[FIELD,...=]SIZE". SIZE is "224" or "HEIGHTxWIDTH": the image is resized, antialiased
/// bilinear, until it just covers that, and the middle is cut out; or "same": images are of one size and stay as they
/// are, which "same:HEIGHTxWIDTH" names. Empty: images stay encoded. Throws Error: invalid_argument.
PixelRecoding pixel_recoding(std::string_view text);
/// In the words that pixel_recoding() takes.
std::string decode_text(const PixelRecoding& recoding);

/// One per thread: owns decoders and scratch, reused from image to image.
class PixelRecoder {
 public:
  /// `recoding` has fields and a size.
  explicit PixelRecoder(const PixelRecoding& recoding);
  ~PixelRecoder();
  PixelRecoder(PixelRecoder&&) noexcept;

  /// uint8 (height, width, 3), RGB as Pillow's convert("RGB"), in memory that stays until the next call. A square size
  /// gives the pixels of image.resize(size) | image.center_crop(size).
  /// Throws Error: corrupt, unsupported; shape, for what is no image, or of another size where none is `fits`.
  std::span<const std::byte> recode(const FieldSchema& field, std::span<const std::byte> value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
