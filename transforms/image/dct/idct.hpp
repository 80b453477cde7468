// Computes the inverse DCT of libjpeg's JDCT_ISLOW, with results equal to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jpt {

/// Number of blocks after the last one that may be read, and be written to the right of the last one.
inline constexpr std::size_t kIdctSlack = 3;

/// Computes the samples of `blocks` adjacent blocks. Row y of block b goes to out[y * stride + 8 * b]. Coefficients are
/// dequantised, 64 per block, in rows of eight. Sums wrap at 32 bits, and values between the passes saturate at 16
/// bits, as in libjpeg-turbo's SIMD code. If no value leaves these bounds, the result is that of every libjpeg.
/// Source: libjpeg's jidctint.c, after C. Loeffler, A. Ligtenberg and G. Moschytz, ICASSP 1989.
void idct(const std::int16_t* coefficients, std::size_t blocks, std::uint8_t* out, std::ptrdiff_t stride);

}  // namespace penstock::jpt
