// Keeps libjpeg's objects with their errors, made once and reused from image to image.
#pragma once

#include <algorithm>
#include <cstdio>

#include <jpeglib.h>

#include <transforms/image/jpeg/errors.hpp>
#include <transforms/image/jpeg/output.hpp>

namespace penstock {

/// A decompressor, within the limits of JpegErrors.
class JpegDecompressor {
 public:
  JpegDecompressor() {
    errors_.attach(reinterpret_cast<j_common_ptr>(&jpeg_));
    guarded([this] { jpeg_create_decompress(&jpeg_); });
    errors_.limit(&jpeg_);
  }
  ~JpegDecompressor() { jpeg_destroy_decompress(&jpeg_); }
  JpegDecompressor(const JpegDecompressor&) = delete;
  JpegDecompressor& operator=(const JpegDecompressor&) = delete;

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
  JpegRewriter(const JpegRewriter&) = delete;
  JpegRewriter& operator=(const JpegRewriter&) = delete;

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
