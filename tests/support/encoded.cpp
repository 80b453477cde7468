#include "support/encoded.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

namespace penstock::test {
namespace {

void append(Bytes& out, std::string_view text) {
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}

void append_big(Bytes& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::byte>(value >> shift & 0xFFU));
}

std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1U ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

void append_chunk(Bytes& out, std::string_view type, const Bytes& data) {
  append_big(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = out.size();
  append(out, type);
  out.insert(out.end(), data.begin(), data.end());
  append_big(out, crc32(std::span(out).subspan(begin)));
}

// RFC 1950 around stored blocks of RFC 1951.
Bytes zlib_stored(const Bytes& data) {
  Bytes out{std::byte{0x78}, std::byte{0x01}};
  std::uint32_t low = 1, high = 0;
  for (std::size_t at = 0; at < data.size(); at += 65535) {
    const std::size_t length = std::min<std::size_t>(65535, data.size() - at);
    out.push_back(static_cast<std::byte>(at + length == data.size()));
    for (const std::size_t word : {length, ~length}) {
      out.push_back(static_cast<std::byte>(word & 0xFFU));
      out.push_back(static_cast<std::byte>(word >> 8 & 0xFFU));
    }
    out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(at),
               data.begin() + static_cast<std::ptrdiff_t>(at + length));
  }
  for (const std::byte byte : data) {
    low = (low + static_cast<std::uint32_t>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  append_big(out, high << 16 | low);
  return out;
}

}  // namespace

Picture picture(std::int64_t width, std::int64_t height, std::int64_t channels, std::uint32_t seed) {
  Picture result{width, height, channels, {}};
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        state = state * 1664525U + 1013904223U;
        const double wave =
            std::sin(0.07 * static_cast<double>(x + 5 * c) + seed) + std::cos(0.05 * static_cast<double>(y));
        result.pixels.push_back(static_cast<std::uint8_t>(128 + 50 * wave + static_cast<double>(state >> 27) - 16));
      }
    }
  }
  return result;
}

Bytes png(const Picture& picture) {
  constexpr std::array<std::uint8_t, 5> kColourTypes{0, 0, 4, 2, 6};
  Bytes out, header, rows;
  append(out, "\x89PNG\r\n\x1a\n");
  append_big(header, static_cast<std::uint32_t>(picture.width));
  append_big(header, static_cast<std::uint32_t>(picture.height));
  const std::uint8_t colour = kColourTypes.at(static_cast<std::size_t>(picture.channels));
  for (const std::uint8_t value : {std::uint8_t{8}, colour, std::uint8_t{0}, std::uint8_t{0}, std::uint8_t{0}}) {
    header.push_back(std::byte{value});
  }
  const std::size_t stride = static_cast<std::size_t>(picture.width * picture.channels);
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y) {
    rows.push_back(std::byte{0});
    for (std::size_t i = 0; i < stride; ++i) rows.push_back(std::byte{picture.pixels[y * stride + i]});
  }
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", zlib_stored(rows));
  append_chunk(out, "IEND", {});
  return out;
}

Bytes jpeg(const Picture& picture, int quality) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.input_components = static_cast<int>(picture.channels);
  info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  std::vector<std::uint8_t> pixels = picture.pixels;
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = pixels.data() + info.next_scanline * static_cast<std::size_t>(picture.width * picture.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  Bytes out(begin, begin + size);
  std::free(memory);
  return out;
}

Bytes npy(std::string_view type, const Shape& shape, const Bytes& elements) {
  std::string header =
      "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': " + to_string(shape) + ", }";
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  Bytes out;
  append(out, "\x93NUMPY");
  out.push_back(std::byte{1});
  out.push_back(std::byte{0});
  out.push_back(static_cast<std::byte>(header.size() & 0xFFU));
  out.push_back(static_cast<std::byte>(header.size() >> 8));
  append(out, header);
  out.insert(out.end(), elements.begin(), elements.end());
  return out;
}

}  // namespace penstock::test
