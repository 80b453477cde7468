// Reads a value in the loader's own way, so that packing and verifying can prove what a loader will deliver.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <transforms/decoders.hpp>

namespace penstock {

/// What a value decodes to: of images the stored pixels, turned upright, of point clouds the coordinates.
struct ReadValue {
  Layout layout;
  std::vector<std::byte> elements;
  friend bool operator==(const ReadValue&, const ReadValue&) = default;
};

/// One per thread: owns the decoders.
class ValueReader {
 public:
  /// Finds the codec as a loader does, by the schema and the first bytes, and decodes the whole value into `read`.
  /// Throws Error: corrupt, unsupported, shape.
  void read(const FieldSchema& schema, std::span<const std::byte> value, ReadValue& read);

 private:
  Decoders decoders_{DecodeOptions{.pixels = Pixels::stored, .upright = true}};
};

}  // namespace penstock
