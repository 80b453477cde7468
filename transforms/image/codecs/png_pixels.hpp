// Reads a PNG's header, and converts stored rows to pixels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

enum class PngColor : std::uint8_t { gray = 0, rgb = 2, palette = 3, gray_alpha = 4, rgb_alpha = 6 };

struct PngHeader {
  std::uint32_t width, height;
  unsigned depth;  ///< bits per sample: 1, 2, 4, 8 or 16
  PngColor color;
  bool interlaced;

  unsigned samples() const;         ///< per pixel
  std::size_t row_bytes() const;    ///< length of a stored row, without its filter byte
  std::size_t pixel_bytes() const;  ///< at least 1
  bool has_one_channel() const { return color != PngColor::rgb && color != PngColor::rgb_alpha; }
};

/// Reads signature and IHDR, the first 33 bytes. Throws Error: corrupt.
PngHeader read_png_header(std::span<const std::byte> bytes);

using PngPalette = std::array<std::array<std::uint8_t, 3>, 256>;  ///< missing entries are black

/// Converts pixels [x, x + count) of a stored row to RGB like Pillow's convert("RGB"): scales low depths to 255 and
/// drops alpha. Keeps the upper 8 of 16 bits, like torchvision's to_dtype(uint8, scale=True). Pillow clips 16-bit gray
/// instead.
void png_row_to_rgb(const PngHeader& header, const PngPalette& palette, const std::uint8_t* row, std::size_t x,
                    std::size_t count, std::uint8_t* rgb);

/// Converts 16-bit pixels [x, x + count) to uint16 in native byte order, one channel or three, without alpha.
void png_row_deep(const PngHeader& header, const std::uint8_t* row, std::size_t x, std::size_t count, std::byte* out);

/// Copies pixels [x, x + count) as stored: gray levels or palette indices. Requires has_one_channel() and at most 8
/// bits.
void png_row_as_stored(const PngHeader& header, const std::uint8_t* row, std::size_t x, std::size_t count,
                       std::uint8_t* out);

}  // namespace penstock
