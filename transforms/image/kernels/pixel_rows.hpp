// Kernels over rows of uint8 pixels, compiled for every SIMD level and chosen at run time. All levels give the same
// bytes: integer sums are exact, and floating-point products and sums are rounded separately on each level.
#pragma once

#include <cstddef>
#include <cstdint>

#include <penstock/schema.hpp>
#include <transforms/image/kernels/filter_weights.hpp>

namespace penstock::pixel_rows {

inline constexpr std::size_t kBlock = 16;  ///< rows of a transposed block
inline constexpr std::size_t kPad = 64;    ///< bytes after the end of a scratch row that may be read or overwritten

/// Transposes 16 rows: sets blocks[i][r] to rows[r][i] for i < count.
void turn_in(const std::uint8_t* const* rows, std::size_t count, std::uint8_t* blocks);
/// Transposes back: sets rows[r][i] to blocks[i][r] for i < count, for the first `rows_used` rows. The rows need kPad
/// spare bytes.
void turn_out(const std::uint8_t* blocks, std::size_t count, std::uint8_t* const* rows, std::size_t rows_used);

/// Weighs the pixels of a transposed block, which begins at weights.taps_begin(). Pixel i, channel c and row r of the
/// block go to out[i * pixel_step + c * channel_step + r]. 1 to 4 channels.
void weigh_block(const std::uint8_t* block, std::size_t channels, const FilterWeights& weights, std::uint8_t* out,
                 std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step);

/// Sets out[i] to the weighted sum over t of rows[t * stride + i]. A weighted sum is (sum of pixel * weight + 2^21) >>
/// 22, rounded like Pillow's. If count is less than kPad, each row and `out` need kPad bytes.
void weigh_rows(const std::uint8_t* rows, std::ptrdiff_t stride, const std::int32_t* weights, std::size_t taps,
                std::size_t count, std::uint8_t* out);

/// Sets planes[c * plane_stride + i] to pixels[i * channels + c]. If `mirrored`, i counts from the right. 1 to 4
/// channels.
void separate(const std::uint8_t* pixels, std::size_t channels, std::size_t width, bool mirrored, std::uint8_t* planes,
              std::size_t plane_stride);

/// Sets out[i * channels + c] to pixels[(width - 1 - i) * channels + c]. 1 to 4 channels.
void mirror(const std::uint8_t* pixels, std::size_t channels, std::size_t width, std::uint8_t* out);

/// Sets out[i] to pixels[i] * scale + bias as float32, float16 or bfloat16, rounded to nearest even.
void convert(const std::uint8_t* pixels, std::size_t count, DType dtype, float scale, float bias, std::byte* out);
/// Like convert(), with a scale and a bias for each element. Both need kPad spare elements.
void convert_each(const std::uint8_t* pixels, std::size_t count, DType dtype, const float* scales, const float* biases,
                  std::byte* out);

}  // namespace penstock::pixel_rows
