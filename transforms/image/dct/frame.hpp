// Describes an image of DCT blocks: components, sampling factors and tiles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::jpt {

inline constexpr std::size_t kMostComponents = 3;
inline constexpr unsigned kMostTileBlocks = 64;  ///< per component, in each direction

enum class Colour : std::uint8_t { gray, ycc, rgb };

struct Component {
  unsigned horizontal = 1, vertical = 1;  ///< sampling factors, 1 to 4
  unsigned quantisation = 0;              ///< index of its table
  unsigned side = 8;                      ///< a block becomes side x side samples; fewer than 8 in shrunk images
};

/// A component's part of a tile, in blocks of the component.
struct BlockRange {
  std::size_t x = 0, y = 0, width = 0, height = 0;
  std::size_t count() const { return width * height; }
};

/// The parameters of an image, from which all other sizes follow.
struct Frame {
  unsigned width = 0, height = 0;
  Colour colour = Colour::gray;
  std::size_t components = 1;
  std::array<Component, kMostComponents> component{};
  std::vector<std::array<std::uint16_t, 64>> quantisation;  ///< tables, in rows of eight
  unsigned tile_width = 1, tile_height = 1;                 ///< tile size in MCUs
  unsigned denominator = 1;                                 ///< set by shrink(); not stored

  unsigned most_horizontal() const;
  unsigned most_vertical() const;
  std::size_t mcus_across() const;  ///< an MCU is 8 * most_horizontal() by 8 * most_vertical() pixels
  std::size_t mcus_down() const;
  std::size_t tiles_across() const { return (mcus_across() + tile_width - 1) / tile_width; }
  std::size_t tiles_down() const { return (mcus_down() + tile_height - 1) / tile_height; }
  std::size_t tiles() const { return tiles_across() * tiles_down(); }
  /// Number of pixels in a whole tile of the full-size image.
  std::size_t tile_pixels() const {
    return std::size_t{64} * tile_width * tile_height * most_horizontal() * most_vertical();
  }
  /// The number of blocks in whole MCUs, including blocks beyond the image's right and lower edge.
  std::size_t blocks_across(std::size_t c) const { return mcus_across() * component[c].horizontal; }
  std::size_t blocks_down(std::size_t c) const { return mcus_down() * component[c].vertical; }
  /// Makes pixels and samples those of the image at 1/`denominator` (1, 2, 4 or 8) of its size, with sides rounded up.
  /// If the sampling factors allow, a chroma block gets more samples than a luma block, up to 8, instead of being
  /// upsampled.
  /// Source: jpeg_calc_output_dimensions() in libjpeg-turbo's jdmaster.c.
  void shrink(unsigned denominator);
  std::size_t pixels_across() const;
  std::size_t pixels_down() const;
  /// Pixels per sample of a component.
  std::size_t ratio_across(std::size_t c) const;
  std::size_t ratio_down(std::size_t c) const;
  /// Samples of a component inside the image.
  std::size_t samples_across(std::size_t c) const;
  std::size_t samples_down(std::size_t c) const;
  BlockRange tile_blocks(std::size_t tile, std::size_t c) const;
  /// Checks everything except the quantisation tables. Throws Error: corrupt (out of range), unsupported (larger than
  /// images may be).
  void check() const;
};

}  // namespace penstock::jpt
