// Recodes values while packing: JPEG files and point clouds are made over, images decoded, all else stays.
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

namespace penstock {

/// The same with what `source` decides: which of its fields hold the images to be decoded, and their size where they
/// are to stay as they are. Throws Error: invalid_argument, when fields are named that do not exist, none holds images,
/// or it is not clear which are meant.
Recoding resolved(Recoding recoding, const Dataset& source);

/// The field with the codec that a value's first bytes tell, where it names none.
FieldSchema recognised(FieldSchema field, std::span<const std::byte> value);

/// What a manifest keeps of it: a JSON object, empty for what keeps all.
std::string recoding_json(const Recoding& recoding);
/// How a packed dataset's values were made, by its manifest; of others, nothing was. Throws Error: corrupt.
Recoding recoding_of(const Dataset& dataset);

/// One per thread: what makes over each kind of value, with its scratch.
class FieldRecoder {
 public:
  /// Throws Error: invalid_argument, for options out of range.
  explicit FieldRecoder(const Recoding& recoding);
  /// The bytes to store in place of `value`: `value` itself where nothing is to be done, else bytes that stay until the
  /// next call. `field` is the source's. Throws Error: corrupt, unsupported, shape.
  std::span<const std::byte> recode(const FieldSchema& field, std::string_view key, std::span<const std::byte> value);
  /// Why the last value stayed a JPEG file though it was to be made over; empty where it did not.
  std::string_view kept_because() const { return kept_; }

 private:
  std::optional<JpegRecoder> jpeg_;
  std::optional<CloudRecoder> clouds_;
  std::optional<PixelRecoder> pixels_;
  PixelRecoding decoded_;
  std::string_view kept_;  // of jpeg_
};

}  // namespace penstock
