// Decodes baseline JPEG without libjpeg's decoder, which spends most of its time on Huffman codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <jpeglib.h>

#include <penstock/transforms/geometry.hpp>
#include <transforms/image/dct/raster.hpp>
#include <transforms/image/jpeg/coefficient_table.hpp>
#include <transforms/image/jpeg/entropy_data.hpp>
#include <transforms/image/jpeg/scan_reader.hpp>

namespace penstock::jpeg {

/// Decodes flawless Huffman-coded files of one scan, gray, YCbCr or RGB, to the pixels that libjpeg-turbo gives. With
/// scratch memory that is reused from file to file.
class BaselineDecoder {
 public:
  /// Writes the region's pixels, (height, width, channels) bytes, of a file whose header `jpeg` has just read, at
  /// 1/scale_denom of its size. False
  /// for every other file, and wherever the data is damaged: `out` then holds nothing that counts, `jpeg` is as before
  /// and may decode it.
  bool decode(const jpeg_decompress_struct& jpeg, const Region& region, std::size_t channels, std::uint8_t* out);

 private:
  bool begin(const jpeg_decompress_struct& jpeg);
  bool build_tables(const jpeg_decompress_struct& jpeg);
  void make_rows();
  bool read_scan(std::size_t restart_interval);
  bool draw_row(std::size_t row);

  jpt::Frame frame_;
  EntropyData data_;
  ScanReader reader_;
  std::array<HuffmanTable, NUM_HUFF_TBLS> dc_;
  std::array<CoefficientTable, NUM_HUFF_TBLS> ac_;
  std::array<std::array<std::uint16_t, 64>, jpt::kMostComponents> factors_{};  ///< in rows of eight
  std::vector<ScanComponent> components_;
  std::array<std::vector<std::int16_t>, jpt::kMostComponents> coefficients_;
  jpt::Raster raster_;
};

}  // namespace penstock::jpeg
