// Kernels that change the colors of uint8 pixels, compiled for every SIMD level and chosen at run time. All levels give
// the same bytes: each floating-point operation is rounded by itself, in the order of the formula.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::color_rows {

inline constexpr std::size_t kSpare = 64;  ///< bytes that may be read or written past the end of pixels

/// pixels[i] = base + factor * (pixels[i] - base), towards zero, within 0 and 255.
/// Source: Pillow 13, Blend.c, ImagingBlend.
void blend(std::uint8_t* pixels, std::size_t count, std::uint8_t base, float factor);
/// The same, with a base for each.
void blend_each(std::uint8_t* pixels, std::size_t count, const std::uint8_t* bases, float factor);
/// The same for RGB, with the pixel's luma as base.
void blend_luma(std::uint8_t* pixels, std::size_t count, float factor);

/// (19595 R + 38470 G + 7471 B + 2^15) >> 16. `luma` may be `pixels`. Source: Pillow 13, Convert.c, rgb2l.
void luma(const std::uint8_t* pixels, std::size_t count, std::uint8_t* luma);
/// Each pixel becomes three times its luma.
void gray(std::uint8_t* pixels, std::size_t count);

/// To hue, saturation and value in bytes, `shift` added to the hue (modulo 256), and back.
/// Source: Pillow 13, Convert.c, rgb2hsv and hsv2rgb.
void shift_hue(std::uint8_t* pixels, std::size_t count, std::uint8_t shift);

/// 255 - pixel, for those not below `threshold` (0: all of them).
void invert_from(std::uint8_t* pixels, std::size_t count, std::uint8_t threshold);
void keep_bits(std::uint8_t* pixels, std::size_t count, std::uint8_t mask);

/// One row, filtered with 1 1 1 / 1 5 1 / 1 1 1 over 13; its first and last pixel are copied.
/// Source: Pillow 13, ImageFilter.SMOOTH.
void smooth(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below, std::size_t channels,
            std::size_t width, std::uint8_t* out);

/// sums[i] = the sum over t < taps of weights[t] * rows[t][i]; weights are symmetric, taps odd.
void blur_down(const std::uint8_t* const* rows, const float* weights, std::size_t taps, std::size_t count, float* sums);
/// out[i] = the sum over t of weights[t] * sums[i + t * step], to nearest even.
void blur_across(const float* sums, const float* weights, std::size_t taps, std::size_t step, std::size_t count,
                 std::uint8_t* out);

}  // namespace penstock::color_rows
