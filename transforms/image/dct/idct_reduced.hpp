// Computes inverse DCTs of only the lowest frequencies of a block. The samples, fewer than 8 x 8, equal those of
// libjpeg's scaled decoding to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jpt {

/// Number of blocks after the last one that may be read.
inline constexpr std::size_t kReducedSlack = 15;

/// Like idct(), but with `side` by `side` samples per block. side is 4, 2 or 1. Row y of block b goes to out[y * stride
/// + side * b]. Writes nothing outside the blocks. Sums wrap at 32 bits, and values between the passes saturate at 16
/// bits, as in libjpeg-turbo's SIMD code. Source: libjpeg's jidctred.c.
void idct_reduced(const std::int16_t* coefficients, std::size_t blocks, unsigned side, std::uint8_t* out,
                  std::ptrdiff_t stride);

}  // namespace penstock::jpt
