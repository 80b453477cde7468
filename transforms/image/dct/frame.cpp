#include <algorithm>

#include <penstock/error.hpp>
#include <transforms/image/codecs/image_decoder.hpp>
#include <transforms/image/dct/frame.hpp>

namespace penstock::jpt {
namespace {

std::size_t ceiling(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

}  // namespace

unsigned Frame::most_horizontal() const {
  unsigned most = 1;
  for (std::size_t c = 0; c < components; ++c) most = std::max(most, component[c].horizontal);
  return most;
}

unsigned Frame::most_vertical() const {
  unsigned most = 1;
  for (std::size_t c = 0; c < components; ++c) most = std::max(most, component[c].vertical);
  return most;
}

std::size_t Frame::mcus_across() const {
  return ceiling(width, std::size_t{8} * most_horizontal());
}

std::size_t Frame::mcus_down() const {
  return ceiling(height, std::size_t{8} * most_vertical());
}

void Frame::shrink(unsigned by) {
  denominator = by;
  const unsigned least = 8 / by;
  for (std::size_t c = 0; c < components; ++c) {
    auto& [horizontal, vertical, table, side] = component[c];
    side = least;
    while (side < 8 && most_horizontal() * least % (horizontal * side * 2) == 0 &&
           most_vertical() * least % (vertical * side * 2) == 0)
      side *= 2;
  }
}

std::size_t Frame::pixels_across() const {
  return ceiling(width, denominator);
}

std::size_t Frame::pixels_down() const {
  return ceiling(height, denominator);
}

std::size_t Frame::ratio_across(std::size_t c) const {
  return std::size_t{8} / denominator * most_horizontal() / (component[c].horizontal * component[c].side);
}

std::size_t Frame::ratio_down(std::size_t c) const {
  return std::size_t{8} / denominator * most_vertical() / (component[c].vertical * component[c].side);
}

std::size_t Frame::samples_across(std::size_t c) const {
  return ceiling(std::size_t{width} * component[c].horizontal * component[c].side, std::size_t{8} * most_horizontal());
}

std::size_t Frame::samples_down(std::size_t c) const {
  return ceiling(std::size_t{height} * component[c].vertical * component[c].side, std::size_t{8} * most_vertical());
}

BlockRange Frame::tile_blocks(std::size_t tile, std::size_t c) const {
  const std::size_t x = tile % tiles_across() * tile_width, y = tile / tiles_across() * tile_height;
  const std::size_t across = std::min<std::size_t>(tile_width, mcus_across() - x);
  const std::size_t down = std::min<std::size_t>(tile_height, mcus_down() - y);
  const unsigned h = component[c].horizontal, v = component[c].vertical;
  return {x * h, y * v, across * h, down * v};
}

void Frame::check() const {
  check_image_size(width, height, 3);
  for (std::size_t c = 0; c < components; ++c) {
    const unsigned h = component[c].horizontal, v = component[c].vertical;
    if (h < 1 || h > 4 || v < 1 || v > 4) throw Error::corrupt("jpt: sampling factors must be 1 to 4");
  }
  for (std::size_t c = 0; c < components; ++c)
    if (most_horizontal() % component[c].horizontal != 0 || most_vertical() % component[c].vertical != 0)
      throw Error::corrupt("jpt: sampling factors must divide the largest");
  const bool tiles_fit = tile_width >= 1 && tile_width * most_horizontal() <= kMostTileBlocks && tile_height >= 1 &&
                         tile_height * most_vertical() <= kMostTileBlocks;
  if (!tiles_fit) throw Error::corrupt("jpt: a tile must have 1 to 64 blocks in each direction");
}

}  // namespace penstock::jpt
