#include <algorithm>
#include <cstring>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/jpt/idct.hpp>
#include <penstock/transforms/jpt/picture.hpp>
#include <penstock/transforms/jpt/sample_rows.hpp>

namespace penstock::jpt {
namespace {

struct Span1 {
  std::size_t begin, end;
};

/// Samples that pixels [begin, end) are made of: `ratio` pixels a sample, with its neighbours where they count.
Span1 samples_of(std::int64_t begin, std::int64_t size, std::size_t ratio, bool neighbours, std::size_t samples) {
  const std::size_t from = static_cast<std::size_t>(begin) / ratio;
  const std::size_t to = static_cast<std::size_t>(begin + size - 1) / ratio + 1;
  const std::size_t margin = neighbours ? 1 : 0;
  return {from - std::min(from, margin), std::min(to + margin, samples)};
}

std::size_t ratio_across(const Frame& frame, std::size_t c) {
  return frame.most_horizontal() / frame.component[c].horizontal;
}
std::size_t ratio_down(const Frame& frame, std::size_t c) {
  return frame.most_vertical() / frame.component[c].vertical;
}

}  // namespace

Upsampling upsampling(const Frame& frame, std::size_t c) {
  const std::size_t across = ratio_across(frame, c), down = ratio_down(frame, c);
  if (across == 1 && down == 1) return Upsampling::none;
  if (across == 1 && down == 2) return Upsampling::between;
  if (across == 2 && down <= 2 && frame.samples_across(c) > 2)
    return down == 1 ? Upsampling::widen : Upsampling::widen_between;
  return Upsampling::repeat;
}

BlockRange needed_blocks(const Frame& frame, std::size_t c, const Region& region) {
  const Upsampling how = upsampling(frame, c);
  const bool beside = how == Upsampling::widen || how == Upsampling::widen_between;
  const bool above = how == Upsampling::between || how == Upsampling::widen_between;
  const Span1 x = samples_of(region.x, region.width, ratio_across(frame, c), beside, frame.samples_across(c));
  const Span1 y = samples_of(region.y, region.height, ratio_down(frame, c), above, frame.samples_down(c));
  return {x.begin / 8, y.begin / 8, (x.end + 7) / 8 - x.begin / 8, (y.end + 7) / 8 - y.begin / 8};
}

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

void Plane::assign(const BlockRange& blocks) {
  blocks_ = blocks;
  stride_ = 8 * blocks.width + 2 * kMargin;
  const std::size_t bytes = stride_ * 8 * blocks.height + 2 * kMargin;
  if (samples_.size() < bytes) samples_.resize(bytes);
}

void Picture::decode_tile(std::span<const std::byte> field, const Head& head, std::size_t tile) {
  const std::size_t begin = head.tile_begin(tile), end = head.tile_end(tile);
  tile_.decode(head.frame, tables_, tile, field.subspan(begin, end - begin));
}

// Expands and transforms those blocks of a component's part of a tile that its plane wants.
void Picture::draw_part(const Frame& frame, std::size_t c, const BlockRange& tile, std::size_t offset, Values& values) {
  const TileClass& blocks = tile_.of(c == 0 ? 0 : 1);
  Plane& plane = planes_[c];
  const BlockRange& wanted = plane.blocks();
  const std::size_t left = std::max(tile.x, wanted.x), right = std::min(tile.x + tile.width, wanted.x + wanted.width);
  const std::size_t top = std::max(tile.y, wanted.y), bottom = std::min(tile.y + tile.height, wanted.y + wanted.height);
  const bool last = c == 0 || c + 1 == frame.components;
  std::size_t done = 0;  // blocks of the tile that were passed
  auto pass_to = [&](std::size_t block) {
    skip(blocks.masks.data() + offset + done, block - done, blocks.escaped, values);
    done = block;
  };
  if (left < right) {
    for (std::size_t y = top; y < bottom; ++y) {
      pass_to((y - tile.y) * tile.width + (left - tile.x));
      const std::size_t at = offset + done, count = right - left;
      expand(blocks.masks.data() + at, blocks.dc.data() + at, count, steps_[c], values, coefficients_.data());
      idct(coefficients_.data(), count, plane.at(8 * left, 8 * y), static_cast<std::ptrdiff_t>(plane.stride()));
      done += count;
    }
  }
  if (!last) pass_to(tile.count());
}

void Picture::draw_tile(const Frame& frame, std::size_t tile) {
  Values values{};
  std::size_t offset = 0;
  for (std::size_t c = 0; c < frame.components; ++c) {
    if (c < 2) {
      values = tile_.of(c).begin;
      offset = 0;
    }
    const BlockRange part = frame.tile_blocks(tile, c);
    draw_part(frame, c, part, offset, values);
    offset += part.count();
  }
}

/// The component's samples of one row of pixels of the region, from its first column on.
const std::uint8_t* Picture::pixel_row(const Frame& frame, std::size_t c, std::size_t y, const Region& region) {
  Plane& plane = planes_[c];
  const std::size_t across = ratio_across(frame, c), down = ratio_down(frame, c);
  const std::size_t from = static_cast<std::size_t>(region.x) / across;
  const std::size_t to = static_cast<std::size_t>(region.x + region.width - 1) / across + 1;
  const std::size_t row = y / down, last = frame.samples_down(c) - 1;
  const std::uint8_t* near = plane.at(from, row);
  const std::size_t other = y % 2 == 0 ? row - std::min<std::size_t>(row, 1) : std::min(row + 1, last);
  std::vector<std::uint8_t>& made = rows_[c];
  switch (upsampling(frame, c)) {
    case Upsampling::none:
      return near;
    case Upsampling::between:
      between(near, plane.at(from, other), to - from, y % 2 == 0 ? 1 : 2, made.data());
      break;
    case Upsampling::widen:
      widen(near, to - from, made.data());
      break;
    case Upsampling::widen_between:
      widen_between(near, plane.at(from, other), to - from, made.data());
      break;
    case Upsampling::repeat:
      if (across == 1) return near;
      repeat(near, to - from, across, made.data());
      break;
  }
  return made.data() + (static_cast<std::size_t>(region.x) - from * across);
}

void Picture::write_pixels(const Frame& frame, const Region& region, std::size_t channels, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(region.width);
  const auto begin = static_cast<std::size_t>(region.y), end = begin + static_cast<std::size_t>(region.height);
  for (std::size_t y = begin; y < end; ++y, out += width * channels) {
    const std::uint8_t* rows[kMostComponents];
    for (std::size_t c = 0; c < frame.components; ++c) rows[c] = pixel_row(frame, c, y, region);
    if (channels == 1) {
      std::memcpy(out, rows[0], width);
    } else if (frame.colour == Colour::gray) {
      planes_to_rgb(rows[0], rows[0], rows[0], width, out);
    } else if (frame.colour == Colour::ycc) {
      ycc_to_rgb(rows[0], rows[1], rows[2], width, out);
    } else {
      planes_to_rgb(rows[0], rows[1], rows[2], width, out);
    }
  }
}

void Picture::decode(std::span<const std::byte> field, const Head& head, const Region& region, std::size_t channels,
                     std::uint8_t* out) {
  const Frame& frame = head.frame;
  tables_.build(head);
  for (std::size_t c = 0; c < frame.components; ++c) {
    planes_[c].assign(needed_blocks(frame, c, region));
    const auto& table = frame.quantisation[frame.component[c].quantisation];
    std::ranges::transform(table, steps_[c].begin(),
                           [](std::uint16_t step) { return static_cast<std::int16_t>(step); });
    const std::size_t row_bytes = 2 * frame.most_horizontal() + static_cast<std::size_t>(region.width) + 3 * kRowSlack;
    if (rows_[c].size() < row_bytes) rows_[c].resize(row_bytes);
  }
  const TileRange tiles = needed_tiles(frame, region);
  for (std::size_t y = tiles.y; y < tiles.end_y; ++y) {
    for (std::size_t x = tiles.x; x < tiles.end_x; ++x) {
      const std::size_t tile = y * frame.tiles_across() + x;
      decode_tile(field, head, tile);
      draw_tile(frame, tile);
    }
  }
  for (std::size_t c = 0; c < frame.components; ++c) {
    const Upsampling how = upsampling(frame, c);
    if (how != Upsampling::widen && how != Upsampling::widen_between) continue;
    Plane& plane = planes_[c];
    const BlockRange& blocks = plane.blocks();
    const std::size_t edge = frame.samples_across(c);
    for (std::size_t y = 8 * blocks.y; y < 8 * (blocks.y + blocks.height); ++y) {
      if (blocks.x == 0) plane.at(0, y)[-1] = plane.at(0, y)[0];
      if (edge <= 8 * (blocks.x + blocks.width)) plane.at(edge, y)[0] = plane.at(edge, y)[-1];
    }
  }
  write_pixels(frame, region, channels, out);
}

}  // namespace penstock::jpt
