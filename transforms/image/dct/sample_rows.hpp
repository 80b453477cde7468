// Upsamples rows of samples like libjpeg's fancy upsampling, and converts them to RGB.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jpt {

/// Number of samples after a row's end that may be read, and of bytes after an output row's end that may be written.
inline constexpr std::size_t kRowSlack = 64;

// in[-1] and in[count] are the neighbouring samples, or the edge sample repeated. Source: libjpeg's jdsample.c.

/// Sets out[2i] and out[2i + 1] to 3/4 of in[i] plus 1/4 of the neighbour on that side.
void widen(const std::uint8_t* in, std::size_t count, std::uint8_t* out);
/// Like widen(), for the row 3/4 `near` + 1/4 `far`. The result is rounded only once.
void widen_between(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint8_t* out);
/// Sets out[i] to 3/4 near[i] + 1/4 far[i]. `bias` is 1 for the upper of two rows and 2 for the lower.
void between(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, unsigned bias, std::uint8_t* out);
/// Repeats each sample `times` times.
void repeat(const std::uint8_t* in, std::size_t count, std::size_t times, std::uint8_t* out);

// The following functions write exactly 3 * count bytes.

/// Source: libjpeg's jdcolor.c, ITU-R BT.601 in full range.
void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
                std::uint8_t* rgb);
void planes_to_rgb(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::size_t count,
                   std::uint8_t* rgb);

}  // namespace penstock::jpt
