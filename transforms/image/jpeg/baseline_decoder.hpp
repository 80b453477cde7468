// Decodes baseline JPEG without libjpeg's decoder, which spends most of its time in Huffman decoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <jpeglib.h>

#include <penstock/geometry.hpp>
#include <transforms/image/dct/raster.hpp>
#include <transforms/image/jpeg/coefficient_table.hpp>
#include <transforms/image/jpeg/scan_reader.hpp>

namespace penstock::jpeg {

/// The entropy-coded data of a scan without stuffed bytes, in memory that is reused from scan to scan. A segment is the
/// data between two restart markers.
class EntropyData {
 public:
  /// Number of bytes after each segment's end that may be read.
  static constexpr std::size_t kSlack = 4096;

  /// Copies the data up to the first marker other than a restart marker, or to the end. Returns false if restart
  /// markers are out of sequence, or if there is a fill byte among the data.
  bool assign(std::span<const std::byte> data);

  std::size_t segments() const { return ends_.size(); }
  std::span<const std::uint8_t> segment(std::size_t number) const {
    const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {bytes_.data() + begin, ends_[number] - begin};
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::size_t> ends_;
};

/// Decodes intact Huffman-coded files of one scan, gray, YCbCr or RGB, to the pixels of libjpeg-turbo. Reuses scratch
/// memory from file to file.
class BaselineDecoder {
 public:
  /// Writes the region's pixels, (height, width, channels) bytes, at 1/scale_denom of the size. `jpeg` must have just
  /// read the file's header. Returns false for files of other kinds and for damaged data. The content of `out` is then
  /// undefined, and the caller can continue with `jpeg`, which is unchanged.
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
