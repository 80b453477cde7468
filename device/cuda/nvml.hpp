// Reads the load of the machine's GPUs from NVIDIA's management library. penstock does not require it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct GpuUse {
  std::string name;
  double busy = 0;                                  ///< share of recent time in which a kernel ran, 0 to 1
  double memory_busy = 0;                           ///< share of recent time in which the memory was accessed
  std::uint64_t memory_used = 0, memory_total = 0;  ///< bytes
};

/// Returns all GPUs visible to this user; empty if the library (libnvidia-ml.so.1, or PENSTOCK_NVML) is missing or
/// fails. Not thread-safe.
/// Source: NVML API reference, nvmlDeviceGetUtilizationRates, nvmlDeviceGetMemoryInfo.
std::vector<GpuUse> gpu_use();

}  // namespace penstock
