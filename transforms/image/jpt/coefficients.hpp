// The quantised coefficients of an image in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <transforms/image/jpt/format.hpp>

namespace penstock::jpt {

/// For each component, the blocks of whole MCUs, row by row. A block has 64 coefficients in rows of eight.
struct Coefficients {
  std::array<std::vector<std::int16_t>, kMostComponents> of;
  std::array<std::size_t, kMostComponents> across{};

  /// Allocates a frame's blocks, with undefined content.
  void assign(const Frame& frame) {
    for (std::size_t c = 0; c < frame.components; ++c) {
      across[c] = frame.blocks_across(c);
      of[c].resize(across[c] * frame.blocks_down(c) * 64);
    }
  }
  std::int16_t* block(std::size_t c, std::size_t x, std::size_t y) { return of[c].data() + (y * across[c] + x) * 64; }
  const std::int16_t* block(std::size_t c, std::size_t x, std::size_t y) const {
    return of[c].data() + (y * across[c] + x) * 64;
  }
};

}  // namespace penstock::jpt
