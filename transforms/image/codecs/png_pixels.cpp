#include <algorithm>
#include <cstring>

#include <penstock/error.hpp>
#include <transforms/image/codecs/png_pixels.hpp>

namespace penstock {
namespace {

constexpr std::array<std::uint8_t, 16> kBegin{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n',
                                              0,    0,   0,   13,  'I',  'H',  'D',  'R'};

std::uint32_t big_endian(const std::uint8_t* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | at[3];
}

bool allowed(unsigned color, unsigned depth) {
  switch (color) {
    case 0:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 3:
      return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case 2:
    case 4:
    case 6:
      return depth == 8 || depth == 16;
    default:
      return false;
  }
}

/// Returns sample i of a row with 1, 2, 4 or 8 bits per sample. The leftmost sample is in the high bits.
unsigned sample(const std::uint8_t* row, std::size_t i, unsigned depth) {
  const std::size_t bit = i * depth;
  return (row[bit / 8] >> (8 - depth - bit % 8)) & ((1u << depth) - 1);
}

void replicate(std::uint8_t value, std::uint8_t* rgb) {
  rgb[0] = rgb[1] = rgb[2] = value;
}

}  // namespace

unsigned PngHeader::samples() const {
  switch (color) {
    case PngColor::rgb:
      return 3;
    case PngColor::gray_alpha:
      return 2;
    case PngColor::rgb_alpha:
      return 4;
    default:
      return 1;
  }
}

std::size_t PngHeader::row_bytes() const {
  return (std::size_t{width} * samples() * depth + 7) / 8;
}

std::size_t PngHeader::pixel_bytes() const {
  return std::max<std::size_t>(samples() * depth / 8, 1);
}

PngHeader read_png_header(std::span<const std::byte> bytes) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (bytes.size() < 33 || std::memcmp(at, kBegin.data(), kBegin.size()) != 0) {
    throw Error::corrupt("png: the signature or the IHDR chunk is missing");
  }
  const unsigned depth = at[24], color = at[25], compression = at[26], filter = at[27], interlace = at[28];
  if (!allowed(color, depth) || compression != 0 || filter != 0 || interlace > 1) {
    throw Error::corrupt("png: invalid IHDR chunk");
  }
  return {big_endian(at + 16), big_endian(at + 20), depth, static_cast<PngColor>(color), interlace == 1};
}

void png_row_to_rgb(const PngHeader& header, const PngPalette& palette, const std::uint8_t* row, std::size_t x,
                    std::size_t count, std::uint8_t* rgb) {
  const std::size_t samples = header.samples();
  const std::size_t step = header.depth / 8;  // bytes of a sample; 0 for less than 8 bits
  switch (header.color) {
    case PngColor::palette:
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(rgb + i * 3, palette[sample(row, x + i, header.depth)].data(), 3);
      }
      return;
    case PngColor::gray:
      if (header.depth == 16) {
        for (std::size_t i = 0; i < count; ++i) replicate(row[(x + i) * 2], rgb + i * 3);
        return;
      }
      for (std::size_t i = 0; i < count; ++i) {
        const unsigned scale = 255 / ((1u << header.depth) - 1);
        replicate(static_cast<std::uint8_t>(sample(row, x + i, header.depth) * scale), rgb + i * 3);
      }
      return;
    case PngColor::gray_alpha:
      for (std::size_t i = 0; i < count; ++i) replicate(row[(x + i) * samples * step], rgb + i * 3);
      return;
    case PngColor::rgb:
    case PngColor::rgb_alpha:
      if (samples == 3 && step == 1) {
        std::memcpy(rgb, row + x * 3, count * 3);
        return;
      }
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t c = 0; c < 3; ++c) rgb[i * 3 + c] = row[((x + i) * samples + c) * step];
      }
      return;
  }
}

void png_row_as_stored(const PngHeader& header, const std::uint8_t* row, std::size_t x, std::size_t count,
                       std::uint8_t* out) {
  const std::size_t samples = header.samples();
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint8_t>(sample(row, (x + i) * samples, header.depth));
  }
}

void png_row_deep(const PngHeader& header, const std::uint8_t* row, std::size_t x, std::size_t count, std::byte* out) {
  const std::size_t samples = header.samples(), kept = header.has_one_channel() ? 1 : 3;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < kept; ++c, out += 2) {
      const std::uint8_t* at = row + ((x + i) * samples + c) * 2;
      const auto value = static_cast<std::uint16_t>(at[0] << 8 | at[1]);
      std::memcpy(out, &value, sizeof value);
    }
  }
}

}  // namespace penstock
