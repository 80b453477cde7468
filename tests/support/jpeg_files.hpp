// Makes JPEG files of every kind that libjpeg writes, for tests that link it.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <jpeglib.h>

namespace penstock::test {

struct Made {
  int components = 3, horizontal = 2, vertical = 2;
  bool progressive = false, optimized = false;
  int quality = 75;
  unsigned restart_interval = 0;  ///< MCUs; 0: none
  J_COLOR_SPACE stored = JCS_YCbCr, given = JCS_RGB;
};

/// A smooth picture with some noise, so that every block has something in it.
inline std::vector<std::byte> make_jpeg(unsigned width, unsigned height, const Made& made) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &data, &size);
  jpeg.image_width = width;
  jpeg.image_height = height;
  jpeg.input_components = made.components;
  jpeg.in_color_space = made.given;
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, made.stored);
  jpeg.comp_info[0].h_samp_factor = made.horizontal;
  jpeg.comp_info[0].v_samp_factor = made.vertical;
  jpeg_set_quality(&jpeg, made.quality, TRUE);
  jpeg.optimize_coding = made.optimized ? TRUE : FALSE;
  jpeg.restart_interval = made.restart_interval;
  if (made.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  std::mt19937 random(3);
  std::vector<unsigned char> row(width * static_cast<unsigned>(made.components));
  for (unsigned y = 0; y < height; ++y) {
    for (unsigned i = 0; i < row.size(); ++i)
      row[i] = static_cast<unsigned char>(i / 3 + y * (1 + i % 3) + random() % 64);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&jpeg, rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), data, size);
  jpeg_destroy_compress(&jpeg);
  std::free(data);
  return bytes;
}

}  // namespace penstock::test
