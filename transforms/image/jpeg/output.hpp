// Copies markers from one JPEG file to another one made of it, and owns the memory that libjpeg writes to.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>

#include <jpeglib.h>

namespace penstock {

/// Memory that libjpeg writes to; grown as needed and kept from file to file. (libjpeg's own memory destination forgets
/// what it has grown when an error ends it.)
class JpegOutput {
 public:
  JpegOutput();
  ~JpegOutput();
  JpegOutput(const JpegOutput&) = delete;
  JpegOutput& operator=(const JpegOutput&) = delete;

  /// For jpeg_compress_struct::dest.
  jpeg_destination_mgr* manager() { return &manager_; }
  /// The file, once jpeg_finish_compress() is through; until the next one.
  std::span<const std::byte> bytes() const { return {reinterpret_cast<const std::byte*>(bytes_), size_}; }

 private:
  static JpegOutput& of(j_compress_ptr codec);
  void begin(j_compress_ptr codec);
  void grow(j_compress_ptr codec);

  jpeg_destination_mgr manager_{};
  unsigned char* bytes_ = nullptr;
  std::size_t capacity_ = 0, size_ = 0;
};

/// Asks for all comments and application markers, before jpeg_read_header().
void save_markers(jpeg_decompress_struct& from);
/// Writes those that were saved, behind what libjpeg writes itself.
void copy_markers(const jpeg_decompress_struct& from, jpeg_compress_struct& to);

/// True when scans of a progressive file are missing, for which decoders smooth between blocks.
bool lacks_scans(const jpeg_decompress_struct& from);

}  // namespace penstock
