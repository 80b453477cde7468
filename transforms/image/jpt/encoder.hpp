// Encodes a JPEG file as a `jpt` field, and proves the field before handing it out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <transforms/image/jpt/coefficients.hpp>
#include <transforms/image/jpt/format.hpp>

namespace penstock::jpt {

/// Pixels that a tile has in each direction, about: as many whole MCUs as fit, at least one.
/// Smaller ones cost space, larger ones time for blocks that a crop does not need: bench/RESULTS.md has both.
inline constexpr unsigned kTilePixels = 128;

/// Replaces `out` by head and tiles: all of a field but what leads back to the file. Any thread.
void encode(const Frame& frame, const Coefficients& coefficients, std::vector<std::byte>& out);

/// One per thread: owns what libjpeg needs, reused from file to file.
class Encoder {
 public:
  explicit Encoder(unsigned tile_pixels = kTilePixels);
  ~Encoder();
  Encoder(Encoder&&) noexcept;

  /// The field, until the next call; empty where the file must stay a JPEG file: kept_because() then says why.
  /// Every field is decoded again and its coefficients compared; its pixels too, with libjpeg-turbo's, where the file
  /// gave warnings or has blocks so strong that arithmetic might overflow; and a file made of it, with the original or,
  /// where that does not come out, by its coefficients. Throws Error: resource.
  std::span<const std::byte> encode(std::span<const std::byte> file);
  const std::string& kept_because() const;
  /// Whether the last field's file comes back to the last byte.
  bool exact() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Makes JPEG files of fields. One per thread.
class Restorer {
 public:
  Restorer();
  ~Restorer();
  Restorer(Restorer&&) noexcept;
  struct File {
    std::span<const std::byte> bytes;  ///< until the next call
    bool exact;                        ///< the file that was encoded, to the last byte; else one of its coefficients
  };
  /// Throws Error: corrupt, unsupported.
  File restore(std::span<const std::byte> field);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::jpt
