// Asks NVIDIA's management library how busy the machine's GPUs are. penstock never needs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct GpuUse {
  std::string name;
  double busy = 0;                                  ///< share, 0 to 1, of the last moments in which a kernel ran
  double memory_busy = 0;                           ///< likewise, in which its memory was read or written
  std::uint64_t memory_used = 0, memory_total = 0;  ///< bytes
};

/// Of all GPUs that this user may see; empty without the library (libnvidia-ml.so.1, or what PENSTOCK_NVML names), and
/// where it fails. One thread at a time.
/// Source: NVML API reference, nvmlDeviceGetUtilizationRates, nvmlDeviceGetMemoryInfo.
std::vector<GpuUse> gpu_use();

}  // namespace penstock
