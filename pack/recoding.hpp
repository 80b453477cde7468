// Recodes values during packing: JPEG files and point clouds are re-encoded, images decoded, other values copied.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <penstock/dataset.hpp>
#include <penstock/pack.hpp>
#include <penstock/schema.hpp>
#include <transforms/recode/cloud_recoder.hpp>
#include <transforms/recode/jpeg_recoder.hpp>
#include <transforms/recode/pixel_recoder.hpp>
#include <transforms/value_reader.hpp>

namespace penstock {

/// Completes `recoding` with properties of `source`: the fields that hold the images to decode, and the images' size if
/// it is to stay. Throws Error: invalid_argument, if a named field does not exist, no field holds images, or the choice
/// is ambiguous.
Recoding resolved(Recoding recoding, const Dataset& source);

/// Returns the field. If it has no codec, sets the one that recognises the first bytes of `value`.
FieldSchema recognised(FieldSchema field, std::span<const std::byte> value);

/// Returns the manifest's record of the recoding: a JSON object, empty if all values are kept.
std::string recoding_json(const Recoding& recoding);
/// Returns the recoding that a packed dataset's manifest records. Other datasets have none. Throws Error: corrupt.
Recoding recoding_of(const Dataset& dataset);

/// Holds the recoders for all kinds of values, with their scratch memory. Each thread needs its own object.
class FieldRecoder {
 public:
  /// Throws Error: invalid_argument, if an option is out of range.
  explicit FieldRecoder(const Recoding& recoding);
  /// Returns the bytes to store: `value` itself if nothing changes, else bytes that stay valid until the next call.
  /// `field` is the source's schema. Throws Error: corrupt, unsupported, shape.
  std::span<const std::byte> recode(const FieldSchema& field, std::string_view key, std::span<const std::byte> value);
  /// Reason why the last value stayed a JPEG file although it was to be recoded; otherwise empty.
  std::string_view kept_because() const { return kept_; }

 private:
  std::optional<JpegRecoder> jpeg_;
  std::optional<CloudRecoder> clouds_;
  std::optional<PixelRecoder> pixels_;
  PixelRecoding decoded_;
  bool decodes_images_ = false;  // max_side and quality decode images, so that damaged ones are errors
  ValueReader images_;
  ReadValue read_;
  std::string_view kept_;  // set by jpeg_
};

}  // namespace penstock
