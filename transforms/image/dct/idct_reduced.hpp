// Computes inverse DCTs of a block's lowest frequencies alone: fewer samples, those of libjpeg's scaled decoding to the
// last bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jpt {

/// Blocks beyond the last one that may be read.
inline constexpr std::size_t kReducedSlack = 15;

/// As idct(), but of `side` by `side` samples a block, side 4, 2 or 1: row y of block b goes to
/// out[y * stride + side * b]. Nothing is written beside the blocks. Sums wrap at 32 bits and what stands between the
/// passes is limited to 16, as in libjpeg-turbo's SIMD code. Source: libjpeg's jidctred.c.
void idct_reduced(const std::int16_t* coefficients, std::size_t blocks, unsigned side, std::uint8_t* out,
                  std::ptrdiff_t stride);

}  // namespace penstock::jpt
