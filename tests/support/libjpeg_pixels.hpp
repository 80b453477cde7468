// Decodes a file by libjpeg, called directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <transforms/image/jpeg/codecs.hpp>

namespace penstock::test {

/// Reads the header of a file, which is then decoded at 1/`denominator` of its size.
inline void read_header(JpegDecompressor& decompressor, std::span<const std::byte> file, unsigned denominator = 1) {
  decompressor.abort();
  decompressor.guarded([&] {
    jpeg_mem_src(&decompressor.jpeg(), reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&decompressor.jpeg(), TRUE);
    decompressor.jpeg().scale_num = 1;
    decompressor.jpeg().scale_denom = denominator;
    jpeg_calc_output_dimensions(&decompressor.jpeg());
  });
}

/// The whole image, (height, width, 3), of a file whose header was read.
inline std::vector<std::uint8_t> libjpeg_pixels(JpegDecompressor& decompressor) {
  jpeg_decompress_struct& jpeg = decompressor.jpeg();
  std::vector<std::uint8_t> pixels;
  decompressor.guarded([&] {
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
  });
  const std::size_t line = std::size_t{jpeg.output_width} * 3;
  pixels.resize(line * jpeg.output_height);
  decompressor.guarded([&] {
    while (jpeg.output_scanline < jpeg.output_height) {
      JSAMPROW row = pixels.data() + jpeg.output_scanline * line;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
  });
  return pixels;
}

}  // namespace penstock::test
