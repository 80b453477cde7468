// Computes the inverse DCT of libjpeg's JDCT_ISLOW, to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jpt {

/// Blocks beyond the last one that may be read, and written at the right of the last one.
inline constexpr std::size_t kIdctSlack = 3;

/// Samples of `blocks` blocks side by side: row y of block b goes to out[y * stride + 8 * b]. Coefficients are
/// dequantised, 64 a block, in rows of eight. Sums wrap at 32 bits and what stands between the passes is limited to 16
/// bits, as in libjpeg-turbo's SIMD code; where nothing leaves these bounds that is what every libjpeg computes.
/// Source: libjpeg's jidctint.c, after C. Loeffler, A. Ligtenberg and G. Moschytz, ICASSP 1989.
void idct(const std::int16_t* coefficients, std::size_t blocks, std::uint8_t* out, std::ptrdiff_t stride);

}  // namespace penstock::jpt
