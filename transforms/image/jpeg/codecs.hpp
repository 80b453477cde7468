// Keeps libjpeg's objects with their errors, made once and reused from image to image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>

#include <jpeglib.h>

#include <transforms/image/jpeg/errors.hpp>

namespace penstock {

/// Memory that libjpeg writes to; grown as needed and kept from file to file. (libjpeg's own memory destination forgets
/// what it has grown when an error ends it.)
class JpegOutput {
 public:
  JpegOutput();
  ~JpegOutput();
  JpegOutput(JpegOutput&&) = delete;

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

/// A decompressor, within the limits of JpegErrors.
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

  /// Ends the image that was begun. Its tables are forgotten: one that comes later and lacks its own shall not be
  /// decoded by those, but by the standard's (Motion JPEG), or not at all.
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

/// What makes one JPEG file of another: both objects share their errors, and the file made lies in `output`.
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
  /// Ends what was begun and forgets the tables, as JpegDecompressor::abort() does.
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
