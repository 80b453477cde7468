// Owns libjpeg's objects and their error handling. They are created once and reused from image to image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>

#include <jpeglib.h>

#include <transforms/image/jpeg/errors.hpp>

namespace penstock {

/// Memory to which libjpeg writes. Grows as needed and is kept from file to file. libjpeg's own memory destination
/// loses its grown buffer if an error ends the compression.
class JpegOutput {
 public:
  JpegOutput();
  ~JpegOutput();
  JpegOutput(JpegOutput&&) = delete;

  /// The value for jpeg_compress_struct::dest.
  jpeg_destination_mgr* manager() { return &manager_; }
  /// The file, after jpeg_finish_compress(). Valid until the next file is begun.
  std::span<const std::byte> bytes() const { return {reinterpret_cast<const std::byte*>(bytes_), size_}; }

 private:
  static JpegOutput& of(j_compress_ptr codec);
  void begin(j_compress_ptr codec);
  void grow(j_compress_ptr codec);

  jpeg_destination_mgr manager_{};
  unsigned char* bytes_ = nullptr;
  std::size_t capacity_ = 0, size_ = 0;
};

/// Requests all comments and application markers. Must be called before jpeg_read_header().
void save_markers(jpeg_decompress_struct& from);
/// Writes the saved markers after those that libjpeg writes itself.
void copy_markers(const jpeg_decompress_struct& from, jpeg_compress_struct& to);

/// Returns whether scans of a progressive file are missing. Decoders then smooth between blocks.
bool lacks_scans(const jpeg_decompress_struct& from);

/// A decompressor with the limits of JpegErrors.
class JpegDecompressor {
 public:
  JpegDecompressor() {
    errors_.attach(reinterpret_cast<j_common_ptr>(&jpeg_));
    guarded([this] { jpeg_create_decompress(&jpeg_); });
    errors_.limit(&jpeg_);
  }
  ~JpegDecompressor() { jpeg_destroy_decompress(&jpeg_); }
  JpegDecompressor(JpegDecompressor&&) = delete;

  jpeg_decompress_struct& jpeg() { return jpeg_; }

  template <class F>
  void guarded(F f) {
    errors_.guarded(f);
  }

  /// Ends the current image and drops its tables. Otherwise an image without tables would be decoded with those of an
  /// earlier one, instead of the standard's tables (Motion JPEG) or an error.
  void abort() {
    if (!has_tables()) return guarded([this] { jpeg_abort_decompress(&jpeg_); });
    jpeg_destroy_decompress(&jpeg_);
    guarded([this] { jpeg_create_decompress(&jpeg_); });
    errors_.limit(&jpeg_);
  }

 private:
  bool has_tables() const {
    const auto is_there = [](const void* table) { return table != nullptr; };
    return std::ranges::any_of(jpeg_.quant_tbl_ptrs, is_there) ||
           std::ranges::any_of(jpeg_.dc_huff_tbl_ptrs, is_there) ||
           std::ranges::any_of(jpeg_.ac_huff_tbl_ptrs, is_there);
  }

  JpegErrors errors_;
  jpeg_decompress_struct jpeg_{};
};

/// Transcodes JPEG files. Both objects share their error handling, and `output` holds the written file.
struct JpegRewriter {
  JpegRewriter() {
    errors.attach(reinterpret_cast<j_common_ptr>(&from));
    errors.attach(reinterpret_cast<j_common_ptr>(&to));
    create();
  }
  ~JpegRewriter() {
    jpeg_destroy_decompress(&from);
    jpeg_destroy_compress(&to);
  }
  /// Ends the current file and drops the tables, like JpegDecompressor::abort().
  void restart() {
    jpeg_destroy_decompress(&from);
    jpeg_destroy_compress(&to);
    create();
  }
  JpegRewriter(JpegRewriter&&) = delete;

  JpegErrors errors;
  jpeg_decompress_struct from{};
  jpeg_compress_struct to{};
  JpegOutput output;

 private:
  void create() {
    errors.guarded([this] {
      jpeg_create_decompress(&from);
      jpeg_create_compress(&to);
    });
    errors.limit(&from);
    to.dest = output.manager();
  }
};

}  // namespace penstock
