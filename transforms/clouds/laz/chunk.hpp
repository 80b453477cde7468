// Decodes a chunk of a LAZ file point by point.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <transforms/clouds/laz/format.hpp>

namespace penstock {

/// Decodes chunks. Keeps its models (several hundred kilobytes) from chunk to chunk.
class LazChunkDecoder {
 public:
  virtual ~LazChunkDecoder() = default;
  /// Starts a chunk. `bytes` begin with the chunk, may continue after its end, and must stay valid during decode().
  /// Throws Error: corrupt.
  virtual void begin(std::span<const std::byte> bytes) = 0;
  /// Writes the records of the next `count` points, `stride` bytes apart. If `stride` is 12, a record consists of the
  /// integers X, Y and Z only; otherwise it is whole. Throws Error: corrupt.
  virtual void decode(std::byte* out, std::size_t stride, std::size_t count) = 0;
  /// End of the chunk in memory, after all its points were decoded.
  virtual const std::byte* end() const = 0;
};

inline constexpr std::size_t kLazCoordinates = 12;

std::unique_ptr<LazChunkDecoder> pointwise_laz_chunks(const LazFormat& format);
/// Decodes only the layers needed for X, Y, Z and the record's bytes with `wanted` set. Other bytes are undefined.
std::unique_ptr<LazChunkDecoder> layered_laz_chunks(const LazFormat& format, const std::vector<bool>& wanted);

}  // namespace penstock
