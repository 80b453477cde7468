// Marks time ranges of the loader's threads for a profiler of the whole program.
#pragma once

namespace penstock {

/// Puts the calling thread into a range of that name, in the domain "penstock", until the object ends. Profilers that
/// support NVTX, such as Nsight Systems, show the range. They announce themselves by the environment variable
/// NVTX_INJECTION64_PATH. Without a profiler, or without NVTX's headers at build time, the cost is one read of a
/// variable. Source: NVTX 3, nvtx3/nvToolsExt.h.
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
