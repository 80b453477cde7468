// Decodes one chunk of a LAZ file, point after point.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <transforms/clouds/laz/format.hpp>

namespace penstock {

/// Keeps its models, some hundred kilobytes, from chunk to chunk.
class LazChunkDecoder {
 public:
  virtual ~LazChunkDecoder() = default;
  /// `bytes`: those of the chunk, and maybe what follows it. They stay while points are decoded. Throws Error: corrupt.
  virtual void begin(std::span<const std::byte> bytes) = 0;
  /// Writes the next `count` points' records, `stride` bytes apart: whole records, or, where `stride` is 12, the
  /// integers X, Y and Z alone. Throws Error: corrupt.
  virtual void decode(std::byte* out, std::size_t stride, std::size_t count) = 0;
  /// Where the chunk ended, once all its points are decoded.
  virtual const std::byte* end() const = 0;
};

inline constexpr std::size_t kLazCoordinates = 12;

std::unique_ptr<LazChunkDecoder> pointwise_laz_chunks(const LazFormat& format);
/// Only those layers are decoded that X, Y, Z and the record's bytes with `wanted` set need; other bytes have any
/// value.
std::unique_ptr<LazChunkDecoder> layered_laz_chunks(const LazFormat& format, const std::vector<bool>& wanted);

}  // namespace penstock
