// Reads a PNG's header, and turns its stored rows into pixels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

enum class PngColor : std::uint8_t { gray = 0, rgb = 2, palette = 3, gray_alpha = 4, rgb_alpha = 6 };

struct PngHeader {
  std::uint32_t width, height;
  unsigned depth;  ///< bits of one sample: 1, 2, 4, 8 or 16
  PngColor color;
  bool interlaced;

  unsigned samples() const;         ///< of one pixel
  std::size_t row_bytes() const;    ///< of one stored row, without its filter byte
  std::size_t pixel_bytes() const;  ///< at least 1
  bool has_one_channel() const { return color != PngColor::rgb && color != PngColor::rgb_alpha; }
};

/// Signature and IHDR, the first 33 bytes. Throws Error: corrupt.
PngHeader read_png_header(std::span<const std::byte> bytes);

using PngPalette = std::array<std::array<std::uint8_t, 3>, 256>;  ///< entries that are not stored are black

/// Pixels [x, x + count) of a stored row as RGB, as Pillow's convert("RGB") makes them: low depths scaled to 255, alpha
/// dropped. Of 16 bits the upper 8, as torchvision's to_dtype(uint8, scale=True) does, also where Pillow clips (gray).
void png_row_to_rgb(const PngHeader& header, const PngPalette& palette, const std::uint8_t* row, std::size_t x,
                    std::size_t count, std::uint8_t* rgb);

/// Pixels [x, x + count) of 16 bits as uint16 in the machine's order, one channel or three, without alpha.
void png_row_deep(const PngHeader& header, const std::uint8_t* row, std::size_t x, std::size_t count, std::byte* out);

/// Pixels [x, x + count) as stored: gray levels or palette indices. Only where has_one_channel(), up to 8 bits.
void png_row_as_stored(const PngHeader& header, const std::uint8_t* row, std::size_t x, std::size_t count,
                       std::uint8_t* out);

}  // namespace penstock
