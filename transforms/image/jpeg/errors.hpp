// Converts libjpeg's errors to penstock's. Every call that may fail goes through guarded().
#pragma once

#include <array>
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

namespace penstock {

inline constexpr int kMaxScans = 500;
inline constexpr long kMaxMemory = 1L << 30;

/// Error handler shared by related compressors and decompressors. They point to it, so it must not move. libjpeg
/// reports errors by longjmp, so no object with a destructor may live between a guarded call and libjpeg.
class JpegErrors {
 public:
  JpegErrors();
  JpegErrors(JpegErrors&&) = delete;

  /// Must be called before jpeg_create_...(), for at most two objects.
  void attach(j_common_ptr codec);
  /// Limits scans and memory. Must be called after the object was created.
  void limit(j_decompress_ptr codec);

  /// Calls f, which calls libjpeg. If libjpeg reports an error, aborts all attached objects and throws Error: corrupt,
  /// unsupported, resource.
  template <class F>
  void guarded(F f) {
    if (setjmp(jump_) != 0) raise();
    f();
  }

 private:
  [[noreturn]] static void fail(j_common_ptr codec);
  [[noreturn]] void raise();

  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  std::array<j_common_ptr, 2> attached_{};
};

}  // namespace penstock
