// Brings rows of samples to the image's width and height, as libjpeg's fancy upsampling does, and to RGB.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::jpt {

/// Samples behind the end of a row that may be read, and bytes behind the end of an output row that may be written.
inline constexpr std::size_t kRowSlack = 64;

// in[-1] and in[count] are neighbours (at an edge: the sample at the edge once more). Source: libjpeg's jdsample.c.

/// out[2i] and out[2i + 1]: 3/4 of in[i] and 1/4 of the neighbour on that side.
void widen(const std::uint8_t* in, std::size_t count, std::uint8_t* out);
/// The same, of rows that are 3/4 `near` and 1/4 `far`: rounded once.
void widen_between(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint8_t* out);
/// out[i]: 3/4 near[i] and 1/4 far[i]; `bias` is 1 for the upper of two rows and 2 for the lower.
void between(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, unsigned bias, std::uint8_t* out);
/// Each sample `times` times.
void repeat(const std::uint8_t* in, std::size_t count, std::size_t times, std::uint8_t* out);

// These write exactly 3 * count bytes.

/// Source: libjpeg's jdcolor.c, ITU-R BT.601 in full range.
void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
                std::uint8_t* rgb);
void planes_to_rgb(const std::uint8_t* r, const std::uint8_t* g, const std::uint8_t* b, std::size_t count,
                   std::uint8_t* rgb);

}  // namespace penstock::jpt
