// Kernels over rows of uint8 pixels, compiled for every SIMD level and chosen at run time. All levels give the same
// bytes: integer sums are exact, and the floating-point ones are a rounded product and a rounded sum at each level.
#pragma once

#include <cstddef>
#include <cstdint>

#include <penstock/schema.hpp>

namespace penstock::pixel_rows {

inline constexpr std::size_t kBlock = 16;  ///< rows of a turned block
inline constexpr std::size_t kPad = 64;    ///< bytes that may be read or written past the end of a scratch row

/// blocks[i][r] = rows[r][i] for i < count and the 16 rows.
void turn_in(const std::uint8_t* const* rows, std::size_t count, std::uint8_t* blocks);
/// rows[r][i] = blocks[i][r] for i < count, for the first `rows_used` rows; rows have kPad bytes to spare.
void turn_out(const std::uint8_t* blocks, std::size_t count, std::uint8_t* const* rows, std::size_t rows_used);

/// out[c * out_stride + r] = the weighted sum over t of in[(t * channels + c) * 16 + r], for 16 rows r of a turned
/// block.
void weigh_block(const std::uint8_t* in, std::size_t channels, const std::int32_t* weights, std::size_t taps,
                 std::uint8_t* out, std::ptrdiff_t out_stride);

/// out[i] = the weighted sum over t of rows[t * stride + i]; where count is less than kPad, rows and out have kPad
/// bytes. A weighted sum is (sum of pixel * weight + 2^21) >> 22, as Pillow rounds it.
void weigh_rows(const std::uint8_t* rows, std::ptrdiff_t stride, const std::int32_t* weights, std::size_t taps,
                std::size_t count, std::uint8_t* out);

/// planes[c * plane_stride + i] = pixels[i * channels + c], i counted from the right when `mirrored`. 1 to 4 channels.
void separate(const std::uint8_t* pixels, std::size_t channels, std::size_t width, bool mirrored, std::uint8_t* planes,
              std::size_t plane_stride);

/// out[i * channels + c] = pixels[(width - 1 - i) * channels + c]. 1 to 4 channels.
void mirror(const std::uint8_t* pixels, std::size_t channels, std::size_t width, std::uint8_t* out);

/// out[i] = pixels[i] * scale + bias, rounded to nearest even, as float32, float16 or bfloat16.
void convert(const std::uint8_t* pixels, std::size_t count, DType dtype, float scale, float bias, std::byte* out);
/// The same, with a scale and a bias for each element; both have kPad elements to spare.
void convert_each(const std::uint8_t* pixels, std::size_t count, DType dtype, const float* scales, const float* biases,
                  std::byte* out);

}  // namespace penstock::pixel_rows
