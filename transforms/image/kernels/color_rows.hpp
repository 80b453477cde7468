// Kernels that change the colours of uint8 pixels, compiled for every SIMD level and chosen at run time. All levels
// give the same bytes, because each floating-point operation is rounded separately, in the order of the formula.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::color_rows {

inline constexpr std::size_t kSpare = 64;  ///< bytes after the end of pixels that may be read or overwritten

/// Sets pixels[i] to base + factor * (pixels[i] - base), rounded towards zero and clamped to 0 to 255.
/// Source: Pillow 13, Blend.c, ImagingBlend.
void blend(std::uint8_t* pixels, std::size_t count, std::uint8_t base, float factor);
/// Like blend(), with a base for each pixel.
void blend_each(std::uint8_t* pixels, std::size_t count, const std::uint8_t* bases, float factor);
/// Like blend() for RGB, with each pixel's luma as base.
void blend_luma(std::uint8_t* pixels, std::size_t count, float factor);

/// Computes (19595 R + 38470 G + 7471 B + 2^15) >> 16. `luma` may be `pixels`. Source: Pillow 13, Convert.c, rgb2l.
void luma(const std::uint8_t* pixels, std::size_t count, std::uint8_t* luma);
/// Replaces the three channels of each pixel by its luma.
void gray(std::uint8_t* pixels, std::size_t count);

/// Converts to hue, saturation and value in bytes, adds `shift` to the hue (modulo 256), and converts back.
/// Source: Pillow 13, Convert.c, rgb2hsv and hsv2rgb.
void shift_hue(std::uint8_t* pixels, std::size_t count, std::uint8_t shift);

/// Inverts (255 - pixel) all pixels not below `threshold`; 0 inverts all.
void invert_from(std::uint8_t* pixels, std::size_t count, std::uint8_t threshold);
void keep_bits(std::uint8_t* pixels, std::size_t count, std::uint8_t mask);

/// Filters one row with the kernel 1 1 1 / 1 5 1 / 1 1 1 over 13. Copies the first and last pixel.
/// Source: Pillow 13, ImageFilter.SMOOTH.
void smooth(const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below, std::size_t channels,
            std::size_t width, std::uint8_t* out);

/// Sets sums[i] to the sum over t < taps of weights[t] * rows[t][i]. Weights are symmetric, taps is odd.
void blur_down(const std::uint8_t* const* rows, const float* weights, std::size_t taps, std::size_t count, float* sums);
/// Sets out[i] to the sum over t of weights[t] * sums[i + t * step], rounded to nearest even.
void blur_across(const float* sums, const float* weights, std::size_t taps, std::size_t step, std::size_t count,
                 std::uint8_t* out);

}  // namespace penstock::color_rows
