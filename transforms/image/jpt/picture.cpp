#include <algorithm>

#include <penstock/error.hpp>
#include <transforms/image/jpt/picture.hpp>
#include <transforms/pieces.hpp>

namespace penstock::jpt {
namespace {

// From this number of pixels on, counted in whole tiles, other threads help: one thread takes 4 ms or more, at 1 to 1.5
// ns per pixel. A piece consists of rows of tiles and has at least a quarter of this.
constexpr std::size_t kSharedPixels = std::size_t{1} << 22;
constexpr std::size_t kPiecePixels = kSharedPixels / 4;

/// Returns the bytes [begin, end) of the field, which must have been read.
std::span<const std::byte> stored(const FieldBytes& field, std::uint64_t begin, std::uint64_t end) {
  if (field.ranges.empty()) return field.bytes.subspan(begin, end - begin);
  std::uint64_t at = 0;
  for (const ByteRange& range : field.ranges) {
    const std::uint64_t length = range.end - range.begin;
    if (range.begin <= begin && end <= range.end && at + length <= field.bytes.size())
      return field.bytes.subspan(at + (begin - range.begin), end - begin);
    at += length;
  }
  throw Error::corrupt("jpt: its tiles are not at the offsets in the index");
}

}  // namespace

TileRange needed_tiles(const Frame& frame, const Region& region) {
  TileRange tiles{frame.tiles_across(), frame.tiles_down(), 0, 0};
  for (std::size_t c = 0; c < frame.components; ++c) {
    const BlockRange blocks = needed_blocks(frame, c, region);
    const std::size_t across = std::size_t{frame.tile_width} * frame.component[c].horizontal;
    const std::size_t down = std::size_t{frame.tile_height} * frame.component[c].vertical;
    tiles.x = std::min(tiles.x, blocks.x / across);
    tiles.y = std::min(tiles.y, blocks.y / down);
    tiles.end_x = std::max(tiles.end_x, (blocks.x + blocks.width - 1) / across + 1);
    tiles.end_y = std::max(tiles.end_y, (blocks.y + blocks.height - 1) / down + 1);
  }
  return tiles;
}

void Picture::decode_tile(const FieldBytes& field, const Head& head, std::size_t tile, TileScratch& scratch) const {
  scratch.tile.decode(head.frame, tables_, tile, stored(field, head.tile_begin(tile), head.tile_end(tile)));
}

// Expands and transforms the blocks of a component's part of a tile that its plane needs.
void Picture::draw_part(const Frame& frame, std::size_t c, const BlockRange& tile, std::size_t offset, Values& values,
                        TileScratch& scratch) {
  const TileClass& blocks = scratch.tile.of(c == 0 ? 0 : 1);
  Plane& plane = raster_.plane(c);
  const BlockRange& wanted = plane.blocks();
  const std::size_t left = std::max(tile.x, wanted.x), right = std::min(tile.x + tile.width, wanted.x + wanted.width);
  const std::size_t top = std::max(tile.y, wanted.y), bottom = std::min(tile.y + tile.height, wanted.y + wanted.height);
  const bool last = c == 0 || c + 1 == frame.components;
  std::size_t done = 0;  // blocks of the tile that were skipped or drawn
  auto advance_to = [&](std::size_t block) {
    skip(blocks.masks.data() + offset + done, block - done, blocks.escaped, values);
    done = block;
  };
  if (left < right) {
    for (std::size_t y = top; y < bottom; ++y) {
      advance_to((y - tile.y) * tile.width + (left - tile.x));
      const std::size_t at = offset + done, count = right - left;
      expand(blocks.masks.data() + at, blocks.dc.data() + at, count, steps_[c], values, scratch.coefficients.data());
      plane.draw(left, y, scratch.coefficients.data(), count);
      done += count;
    }
  }
  if (!last) advance_to(tile.count());
}

void Picture::draw_tile(const Frame& frame, std::size_t tile, TileScratch& scratch) {
  Values values{};
  std::size_t offset = 0;
  for (std::size_t c = 0; c < frame.components; ++c) {
    if (c < 2) {
      values = scratch.tile.of(c).begin;
      offset = 0;
    }
    const BlockRange part = frame.tile_blocks(tile, c);
    draw_part(frame, c, part, offset, values, scratch);
    offset += part.count();
  }
}

void Picture::decode_tiles(const FieldBytes& field, const Head& head, const TileRange& tiles, TileScratch& scratch) {
  for (std::size_t y = tiles.y; y < tiles.end_y; ++y) {
    for (std::size_t x = tiles.x; x < tiles.end_x; ++x) {
      const std::size_t tile = y * head.frame.tiles_across() + x;
      decode_tile(field, head, tile, scratch);
      draw_tile(head.frame, tile, scratch);
    }
  }
}

void Picture::decode(const FieldBytes& field, const Head& head, const Region& region, std::size_t channels,
                     std::uint8_t* out) {
  const Frame& frame = head.frame;
  tables_.build(head);
  raster_.begin(frame, region);
  for (std::size_t c = 0; c < frame.components; ++c) {
    const auto& table = frame.quantisation[frame.component[c].quantisation];
    std::ranges::transform(table, steps_[c].begin(),
                           [](std::uint16_t step) { return static_cast<std::int16_t>(step); });
  }
  const TileRange tiles = needed_tiles(frame, region);
  const std::size_t tile_row = (tiles.end_x - tiles.x) * frame.tile_pixels();
  const std::size_t pixels = (tiles.end_y - tiles.y) * tile_row;
  if (parallel_ == nullptr || pixels < kSharedPixels) {
    decode_tiles(field, head, tiles, scratch_);
    return raster_.write(frame, region, channels, out);
  }
  // Threads get whole rows of tiles, because the inverse DCT writes beyond the right edge of a tile into the next one.
  PieceScratch<TileScratch> scratch(scratch_);
  run_bands(parallel_, tiles.end_y - tiles.y, kPiecePixels / tile_row + 1, [&](std::uint64_t begin, std::uint64_t end) {
    scratch.lend(std::make_unique<TileScratch>, [&](TileScratch& mine) {
      decode_tiles(field, head, {tiles.x, tiles.y + begin, tiles.end_x, tiles.y + end}, mine);
    });
  });
  raster_.write(frame, region, channels, out, parallel_);
}

}  // namespace penstock::jpt
