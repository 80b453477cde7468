// Ranges of the loader's threads, for a profiler that watches the whole program.
#pragma once

namespace penstock {

/// Until this ends, the calling thread is in a range of that name, of the domain "penstock". Seen by profilers that
/// understand NVTX, as Nsight Systems does; they say that they are there by NVTX_INJECTION64_PATH in the environment.
/// Without one, or where penstock was built without NVTX's headers, it is a look at one variable.
/// Source: NVTX 3, nvtx3/nvToolsExt.h.
class ProfilerRange {
 public:
  explicit ProfilerRange(const char* name) noexcept : open_(attached && begin(name)) {}
  ~ProfilerRange() {
    if (open_) end();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  static bool begin(const char* name) noexcept;
  static void end() noexcept;
  static const bool attached;

  const bool open_;
};

}  // namespace penstock
