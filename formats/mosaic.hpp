// A block that is assembled from other blocks. Rows need it if chunks span several rows and split the other axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace penstock {

/// Upper limit for the bytes of a mosaic, and of a tile.
inline constexpr std::uint64_t kLongestMosaic = std::uint64_t{256} << 20;

/// An array of `dims` elements in row-major order, cut into tiles of `tile_dims`. Tile t, also counted in row-major
/// order, holds the decoded bytes of block first_block + t. Tiles at an edge extend beyond the array. A block without
/// bytes is a tile that was never written: its elements are `fill`.
struct Mosaic {
  std::uint32_t first_block = 0;
  std::uint32_t element_bytes = 1;
  std::vector<std::uint64_t> dims, tile_dims;  ///< of equal length
  std::vector<std::byte> fill;                 ///< repeated; empty: zeros

  std::uint64_t tiles() const;
  std::uint64_t tile_bytes() const;
  friend bool operator==(const Mosaic&, const Mosaic&) = default;
};

/// Serialise a mosaic for an index, and parse it. mosaic_of() throws Error: corrupt, unless the bytes describe a mosaic
/// of `decoded_length` bytes whose tiles are among `blocks` blocks.
std::vector<std::byte> to_bytes(const Mosaic& mosaic);
Mosaic mosaic_of(std::span<const std::byte> bytes, std::uint64_t decoded_length, std::uint32_t blocks);

/// An array that is assembled tile by tile.
class Assembly {
 public:
  /// Resizes `whole`. `whole` and `mosaic` must outlive this object.
  Assembly(const Mosaic& mosaic, std::vector<std::byte>& whole);
  /// Writes the elements of tile `number`. An empty `tile` was never written. Several threads may place different
  /// non-empty tiles. Throws Error: corrupt, if the tile has another length.
  void place(std::uint64_t number, std::span<const std::byte> tile);

 private:
  const Mosaic& mosaic_;
  std::vector<std::byte>& whole_;
  const std::uint64_t tile_bytes_;
  std::vector<std::byte> unwritten_;
};

/// Assembles the array into `whole`, which is resized. `bring` replaces its argument by the decoded bytes of a block,
/// or leaves it empty if the block was never written. Throws Error: corrupt, if a tile has another length, and the
/// errors of `bring`.
void assemble(const Mosaic& mosaic, std::vector<std::byte>& whole,
              const std::function<void(std::uint32_t block, std::vector<std::byte>& tile)>& bring);

}  // namespace penstock
