// A block that is put together from others, for rows that chunks over several axes share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace penstock {

/// Bytes of a mosaic, and of a tile, at the very most.
inline constexpr std::uint64_t kLongestMosaic = std::uint64_t{256} << 20;

/// An array of `dims` elements in row-major order, cut into tiles of `tile_dims`. Tile t, counted in row-major order
/// too, holds the undone bytes of block first_block + t; tiles at an edge reach over it. A block of no bytes is a tile
/// that was never written: its elements are `fill`.
struct Mosaic {
  std::uint32_t first_block = 0;
  std::uint32_t element_bytes = 1;
  std::vector<std::uint64_t> dims, tile_dims;  ///< equally many
  std::vector<std::byte> fill;                 ///< repeated; empty: zeros

  std::uint64_t tiles() const;
  std::uint64_t tile_bytes() const;
  friend bool operator==(const Mosaic&, const Mosaic&) = default;
};

/// Bytes for an index, and back. Throws Error: corrupt, unless they describe a mosaic of `decoded_length` bytes whose
/// tiles are among `blocks` blocks.
std::vector<std::byte> to_bytes(const Mosaic& mosaic);
Mosaic mosaic_of(std::span<const std::byte> bytes, std::uint64_t decoded_length, std::uint32_t blocks);

/// An array that is put together tile by tile.
class Assembly {
 public:
  /// Resizes `whole`, which must outlive this, as `mosaic` must.
  Assembly(const Mosaic& mosaic, std::vector<std::byte>& whole);
  /// Writes the elements of tile `number`; no bytes: it was never written. Several threads may place different tiles
  /// that have bytes. Throws Error: corrupt, when the tile has another length.
  void place(std::uint64_t number, std::span<const std::byte> tile);

 private:
  const Mosaic& mosaic_;
  std::vector<std::byte>& whole_;
  const std::uint64_t tile_bytes_;
  std::vector<std::byte> unwritten_;
};

/// Puts the array together into `whole`, which is resized. `bring` replaces its argument by the undone bytes of a
/// block; no bytes: it was never written. Throws Error: corrupt, when a tile has another length; what `bring` throws.
void assemble(const Mosaic& mosaic, std::vector<std::byte>& whole,
              const std::function<void(std::uint32_t block, std::vector<std::byte>& tile)>& bring);

}  // namespace penstock
