// Locates a field's tiles from an index entry, so that a crop reads only the tiles it needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/geometry.hpp>
#include <transforms/image/jpt/format.hpp>

namespace penstock::jpt {

/// Returns the bytes that an index stores: the first 20 + 2 * components bytes of the head, then the end of each tile
/// as in the head. Throws Error: corrupt, unsupported.
std::vector<std::byte> kept_extents(std::span<const std::byte> field);

/// Reads the result of kept_extents() in place.
class Extents {
 public:
  /// Throws Error: corrupt, unsupported.
  explicit Extents(std::span<const std::byte> kept);
  Frame& frame() { return frame_; }  ///< without quantisation tables
  /// Appends the ranges of the head and of the region's tiles, ascending. Joins ranges with at most `gap` bytes between
  /// them. Throws Error: corrupt.
  void select(const Region& region, std::uint64_t gap, std::vector<ByteRange>& ranges) const;

 private:
  std::uint64_t tile_end(std::size_t tile) const;  ///< offset in the field

  Frame frame_;
  std::uint32_t head_bytes_ = 0;
  std::span<const std::byte> ends_;
};

}  // namespace penstock::jpt
