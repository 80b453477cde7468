#include <array>

#include <device/cuda/late_library.hpp>
#include <device/cuda/nvml.hpp>

namespace penstock {
namespace {

// Types as in nvml.h. Every call returns 0 on success.
using NvmlDevice = void*;
struct NvmlUtilization {
  unsigned gpu, memory;  // percent
};
struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};
struct NvmlCalls {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, NvmlDevice*) = nullptr;
  int (*device_name)(NvmlDevice, char*, unsigned) = nullptr;
  int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
};

constexpr const char* kNvmlNames[] = {"libnvidia-ml.so.1"};
constexpr LateLibrary kNvmlLibrary{
    "NVML", "PENSTOCK_NVML", kNvmlNames, {}, "an NVML library that lacks required functions"};
constexpr unsigned kMostGpus = 256;

bool find_nvml(void* file, NvmlCalls& calls) {
  return find(file, "nvmlInit_v2", calls.init) && find(file, "nvmlDeviceGetCount_v2", calls.count) &&
         find(file, "nvmlDeviceGetHandleByIndex_v2", calls.device) &&
         find(file, "nvmlDeviceGetName", calls.device_name) &&
         find(file, "nvmlDeviceGetUtilizationRates", calls.utilization) &&
         find(file, "nvmlDeviceGetMemoryInfo", calls.memory);
}

std::string nvml_version(const NvmlCalls&) {
  return "";
}

// Returns null if NVML is missing or does not start.
const NvmlCalls* started_nvml() {
  static const LoadedLibrary<NvmlCalls> loaded = load(kNvmlLibrary, find_nvml, nvml_version);
  static const bool started = loaded.facts.problem.empty() && loaded.calls.init() == 0;
  return started ? &loaded.calls : nullptr;
}

}  // namespace

std::vector<GpuUse> gpu_use() {
  std::vector<GpuUse> all;
  const NvmlCalls* const calls = started_nvml();
  unsigned count = 0;
  if (calls == nullptr || calls->count(&count) != 0) return all;
  for (unsigned i = 0; i < count && i < kMostGpus; ++i) {
    NvmlDevice device = nullptr;
    NvmlUtilization busy{};
    if (calls->device(i, &device) != 0 || calls->utilization(device, &busy) != 0) continue;
    GpuUse use;
    use.busy = busy.gpu / 100.0;
    use.memory_busy = busy.memory / 100.0;
    std::array<char, 96> text{};
    if (calls->device_name(device, text.data(), text.size() - 1) == 0) use.name = text.data();
    NvmlMemory memory{};
    if (calls->memory(device, &memory) == 0) {
      use.memory_used = memory.used;
      use.memory_total = memory.total;
    }
    all.push_back(std::move(use));
  }
  return all;
}

}  // namespace penstock
