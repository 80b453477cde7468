// Reads a value like a loader, so that packing and verifying can check the delivered data.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <transforms/decoders.hpp>

namespace penstock {

/// A decoded value: stored pixels turned upright for images, coordinates for point clouds.
struct ReadValue {
  Layout layout;
  std::vector<std::byte> elements;
  friend bool operator==(const ReadValue&, const ReadValue&) = default;
};

/// Owns the decoders. Each thread needs its own reader.
class ValueReader {
 public:
  /// Finds the codec like a loader, by the schema and the first bytes, and decodes the whole value into `read`.
  /// Throws Error: corrupt, unsupported, shape.
  void read(const FieldSchema& schema, std::span<const std::byte> value, ReadValue& read);

 private:
  Decoders decoders_{DecodeOptions{.pixels = Pixels::stored, .upright = true}};
};

}  // namespace penstock
