// Encodes a JPEG file as a `jpt` field, and verifies the field before returning it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <transforms/image/jpt/coefficients.hpp>
#include <transforms/image/jpt/format.hpp>

namespace penstock::jpt {

/// Approximate size of a tile in pixels, in each direction. A tile has as many whole MCUs as fit, at least one. Smaller
/// tiles cost space. Larger ones cost time for blocks that a crop does not need. See bench/RESULTS.md for both.
inline constexpr unsigned kTilePixels = 128;

/// Replaces `out` by head and tiles, that is a field without the part that restores the file. Thread-safe.
void encode(const Frame& frame, const Coefficients& coefficients, std::vector<std::byte>& out);

/// Encodes files, reusing libjpeg's objects. Each thread needs its own encoder.
class Encoder {
 public:
  explicit Encoder(unsigned tile_pixels = kTilePixels);
  ~Encoder();
  Encoder(Encoder&&) noexcept;

  /// Returns the field, valid until the next call. Returns nothing if the file must stay a JPEG file; kept_because()
  /// then returns the reason. Verification decodes every field again and compares the coefficients. If the file gave
  /// warnings, or has blocks so strong that arithmetic might overflow, the pixels are compared with libjpeg-turbo's
  /// too. A restored file is compared with the original, or, if it differs, by its coefficients. Throws Error:
  /// resource.
  std::span<const std::byte> encode(std::span<const std::byte> file);
  const std::string& kept_because() const;
  /// Returns whether the last field restores its file to the last byte.
  bool exact() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Restores JPEG files from fields. Each thread needs its own restorer.
class Restorer {
 public:
  Restorer();
  ~Restorer();
  Restorer(Restorer&&) noexcept;
  struct File {
    std::span<const std::byte> bytes;  ///< valid until the next call
    bool exact;  ///< true: identical to the encoded file; false: another file with the same coefficients
  };
  /// Throws Error: corrupt, unsupported.
  File restore(std::span<const std::byte> field);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::jpt
