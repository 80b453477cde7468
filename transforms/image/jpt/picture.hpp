// Decodes regions of a `jpt` field to pixels. Decodes only the tiles that a region touches, and only their needed
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/geometry.hpp>
#include <transforms/image/dct/idct_reduced.hpp>
#include <transforms/image/dct/raster.hpp>
#include <transforms/image/jpt/format.hpp>
#include <transforms/image/jpt/tile.hpp>

namespace penstock::jpt {

/// [begin, end) of tiles in each direction.
struct TileRange {
  std::size_t x = 0, y = 0, end_x = 0, end_y = 0;
};
TileRange needed_tiles(const Frame& frame, const Region& region);

/// Scratch memory to decode a tile, below 2 MiB.
struct TileScratch {
  Tile tile;
  std::vector<std::int16_t> coefficients = std::vector<std::int16_t>((kMostTileBlocks + kReducedSlack) * kBlockSize);
};

/// Decodes fields, reusing scratch memory.
class Picture {
 public:
  /// Like Decoder::share(). Threads share rows of tiles, then rows of pixels, of a large region.
  void share(Parallel* parallel) { parallel_ = parallel; }
  /// Writes the region's pixels, (height, width, channels) bytes, with one channel (only for gray images) or three. If
  /// the head's frame was shrunk, the region refers to the smaller image. The field may have been read in part.
  /// Throws Error: corrupt.
  void decode(const FieldBytes& field, const Head& head, const Region& region, std::size_t channels, std::uint8_t* out);
  /// Calls visit(component, block x, block y, 64 coefficients in rows of eight) with the quantised coefficients of each
  /// block. Throws Error: corrupt.
  template <class Visit>
  void coefficients(std::span<const std::byte> field, const Head& head, Visit visit) {
    tables_.build(head);
    for (std::size_t tile = 0; tile < head.frame.tiles(); ++tile) {
      decode_tile({.schema = nullptr, .bytes = field}, head, tile, scratch_);
      each_block(head.frame, tile, visit);
    }
  }

 private:
  void decode_tiles(const FieldBytes& field, const Head& head, const TileRange& tiles, TileScratch& scratch);
  void decode_tile(const FieldBytes& field, const Head& head, std::size_t tile, TileScratch& scratch) const;
  void draw_tile(const Frame& frame, std::size_t tile, TileScratch& scratch);
  void draw_part(const Frame& frame, std::size_t component, const BlockRange& tile, std::size_t offset, Values& values,
                 TileScratch& scratch);

  template <class Visit>
  void each_block(const Frame& frame, std::size_t tile, Visit visit) {
    static constexpr std::array<std::int16_t, 64> kOnes = [] {
      std::array<std::int16_t, 64> ones{};
      ones.fill(1);
      return ones;
    }();
    Values values{};
    std::size_t block = 0;
    for (std::size_t c = 0; c < frame.components; ++c) {
      const TileClass& of_class = scratch_.tile.of(c == 0 ? 0 : 1);
      if (c < 2) values = of_class.begin;
      if (c < 2) block = 0;
      const BlockRange range = frame.tile_blocks(tile, c);
      for (std::size_t y = 0; y < range.height; ++y) {
        expand(of_class.masks.data() + block, of_class.dc.data() + block, range.width, kOnes, values,
               scratch_.coefficients.data());
        for (std::size_t x = 0; x < range.width; ++x)
          visit(c, range.x + x, range.y + y, scratch_.coefficients.data() + x * kBlockSize);
        block += range.width;
      }
    }
  }

  Parallel* parallel_ = nullptr;
  TileTables tables_;
  TileScratch scratch_;
  std::array<std::array<std::int16_t, 64>, kMostComponents> steps_{};
  Raster raster_;
};

}  // namespace penstock::jpt
