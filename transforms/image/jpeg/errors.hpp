// Turns libjpeg's errors into penstock's: every call that may fail goes through guarded().
#pragma once

#include <array>
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

namespace penstock {

inline constexpr int kMaxScans = 500;
inline constexpr long kMaxMemory = 1L << 30;

/// Shared by the compressors and decompressors that work together, which point to it: never moved. libjpeg's errors
/// come back by longjmp, so nothing with a destructor may live between a guarded call and libjpeg.
class JpegErrors {
 public:
  JpegErrors();
  JpegErrors(JpegErrors&&) = delete;

  /// To be called before jpeg_create_...(). At most two.
  void attach(j_common_ptr codec);
  /// Limits of scans and memory, once it is created.
  void limit(j_decompress_ptr codec);

  /// Calls f, which calls libjpeg. Throws what libjpeg reports, after all that are attached were aborted: Error:
  /// corrupt, unsupported, resource.
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
