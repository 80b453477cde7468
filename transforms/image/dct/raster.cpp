#include <algorithm>
#include <cstring>

#include <transforms/image/dct/idct.hpp>
#include <transforms/image/dct/idct_reduced.hpp>
#include <transforms/image/dct/raster.hpp>
#include <transforms/image/dct/sample_rows.hpp>
#include <transforms/pieces.hpp>

namespace penstock::jpt {
namespace {

// Pixels of a piece that threads share: about 1 ms of upsampling and conversion, at 0.5 ns per pixel.
constexpr std::uint64_t kPiecePixels = std::uint64_t{1} << 21;

struct Span1 {
  std::size_t begin, end;
};

/// Returns the samples that pixels [begin, end) depend on. A sample covers `ratio` pixels; `neighbours` adds one sample
/// on each side.
Span1 samples_of(std::int64_t begin, std::int64_t size, std::size_t ratio, bool neighbours, std::size_t samples) {
  const std::size_t from = static_cast<std::size_t>(begin) / ratio;
  const std::size_t to = static_cast<std::size_t>(begin + size - 1) / ratio + 1;
  const std::size_t margin = neighbours ? 1 : 0;
  return {from - std::min(from, margin), std::min(to + margin, samples)};
}

}  // namespace

Upsampling upsampling(const Frame& frame, std::size_t c) {
  const std::size_t across = frame.ratio_across(c), down = frame.ratio_down(c);
  if (across == 1 && down == 1) return Upsampling::none;
  // Like jdsample.c, uses fancy upsampling neither at 1/8 of the size nor across components up to two samples wide.
  if (frame.denominator == 8) return Upsampling::repeat;
  if (across == 1 && down == 2) return Upsampling::between;
  if (across == 2 && down <= 2 && frame.samples_across(c) > 2)
    return down == 1 ? Upsampling::widen : Upsampling::widen_between;
  return Upsampling::repeat;
}

BlockRange needed_blocks(const Frame& frame, std::size_t c, const Region& region) {
  const Upsampling how = upsampling(frame, c);
  const bool beside = how == Upsampling::widen || how == Upsampling::widen_between;
  const bool above = how == Upsampling::between || how == Upsampling::widen_between;
  const Span1 x = samples_of(region.x, region.width, frame.ratio_across(c), beside, frame.samples_across(c));
  const Span1 y = samples_of(region.y, region.height, frame.ratio_down(c), above, frame.samples_down(c));
  const std::size_t side = frame.component[c].side, left = x.begin / side, top = y.begin / side;
  return {left, top, (x.end + side - 1) / side - left, (y.end + side - 1) / side - top};
}

void Plane::assign(const BlockRange& blocks, unsigned side) {
  blocks_ = blocks;
  side_ = side;
  stride_ = side * blocks.width + 2 * kMargin;
  const std::size_t bytes = stride_ * side * blocks.height + 2 * kMargin;
  if (bytes <= capacity_) return;
  capacity_ = 0;
  samples_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
  capacity_ = bytes;
}

void Plane::draw(std::size_t x, std::size_t y, const std::int16_t* coefficients, std::size_t count) {
  std::uint8_t* to = at(side_ * x, side_ * y);
  if (side_ == 8)
    idct(coefficients, count, to, static_cast<std::ptrdiff_t>(stride_));
  else
    idct_reduced(coefficients, count, side_, to, static_cast<std::ptrdiff_t>(stride_));
}

void Raster::begin(const Frame& frame, const Region& region) {
  for (std::size_t c = 0; c < frame.components; ++c) {
    planes_[c].assign(needed_blocks(frame, c, region), frame.component[c].side);
  }
}

// Fancy upsampling repeats the sample at the image's left and right edge as its neighbour.
void Raster::extend_edges(const Frame& frame) {
  for (std::size_t c = 0; c < frame.components; ++c) {
    const Upsampling how = upsampling(frame, c);
    if (how != Upsampling::widen && how != Upsampling::widen_between) continue;
    Plane& plane = planes_[c];
    const BlockRange& blocks = plane.blocks();
    const std::size_t edge = frame.samples_across(c), side = frame.component[c].side;
    for (std::size_t y = side * blocks.y; y < side * (blocks.y + blocks.height); ++y) {
      if (blocks.x == 0) plane.at(0, y)[-1] = plane.at(0, y)[0];
      if (edge <= side * (blocks.x + blocks.width)) plane.at(edge, y)[0] = plane.at(edge, y)[-1];
    }
  }
}

Raster::Sampling Raster::sampling_of(const Frame& frame, std::size_t c, const Region& region) {
  Sampling made{.how = upsampling(frame, c),
                .across = frame.ratio_across(c),
                .down = frame.ratio_down(c),
                .last = frame.samples_down(c) - 1};
  made.from = static_cast<std::size_t>(region.x) / made.across;
  made.count = static_cast<std::size_t>(region.x + region.width - 1) / made.across + 1 - made.from;
  made.offset = static_cast<std::size_t>(region.x) - made.from * made.across;
  return made;
}

/// Returns the component's samples of one row of pixels of the region, from its first column on. `made` has room for
/// them.
const std::uint8_t* Raster::pixel_row(Plane& plane, const Sampling& sampling, std::size_t y, std::uint8_t* made) {
  const auto& [how, across, down, from, count, last, offset] = sampling;
  const std::size_t row = y / down;
  const std::uint8_t* near = plane.at(from, row);
  // The sample row above contributes to even rows of pixels, the one below to odd rows.
  const std::size_t other = y % 2 == 0 ? row - std::min<std::size_t>(row, 1) : std::min(row + 1, last);
  switch (how) {
    case Upsampling::none:
      return near;
    case Upsampling::between:
      between(near, plane.at(from, other), count, y % 2 == 0 ? 1 : 2, made);
      break;
    case Upsampling::widen:
      widen(near, count, made);
      break;
    case Upsampling::widen_between:
      widen_between(near, plane.at(from, other), count, made);
      break;
    case Upsampling::repeat:
      if (across == 1) return near;
      repeat(near, count, across, made);
      break;
  }
  return made + offset;
}

void Raster::write(const Frame& frame, const Region& region, std::size_t channels, std::uint8_t* out,
                   Parallel* parallel) {
  extend_edges(frame);
  const auto width = static_cast<std::uint64_t>(region.width), height = static_cast<std::uint64_t>(region.height);
  if (parallel == nullptr) return write_rows(frame, region, channels, 0, height, rows_, out);
  PieceScratch<Rows> scratch(rows_);
  run_bands(parallel, height, kPiecePixels / width + 1, [&](std::uint64_t begin, std::uint64_t end) {
    scratch.lend(std::make_unique<Rows>,
                 [&](Rows& mine) { write_rows(frame, region, channels, begin, end, mine, out); });
  });
}

/// Writes rows [begin, end) of the region.
void Raster::write_rows(const Frame& frame, const Region& region, std::size_t channels, std::uint64_t begin,
                        std::uint64_t end, Rows& made, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(region.width);
  const std::size_t row_bytes = 2 * frame.most_horizontal() + width + 3 * kRowSlack;
  std::array<Sampling, kMostComponents> samplings;
  for (std::size_t c = 0; c < frame.components; ++c) {
    samplings[c] = sampling_of(frame, c, region);
    if (made.of[c].size() < row_bytes) made.of[c].resize(row_bytes);
  }
  out += begin * width * channels;
  for (std::uint64_t i = begin; i < end; ++i, out += width * channels) {
    const std::size_t y = static_cast<std::size_t>(region.y) + i;
    const std::uint8_t* rows[kMostComponents];
    for (std::size_t c = 0; c < frame.components; ++c)
      rows[c] = pixel_row(planes_[c], samplings[c], y, made.of[c].data());
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

}  // namespace penstock::jpt
