// Stands in for libnvidia-ml.so.1: two GPUs, of which the second one tells no utilization.
#include <cstdio>

extern "C" {

int nvmlInit_v2() {
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static int devices[2];
  *device = &devices[index];
  devices[index] = static_cast<int>(index);
  return 0;
}

int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "Fake\x1b[2J GPU");
  return 0;
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned* percents) {
  if (*static_cast<int*>(device) != 0) return 3;  // NVML_ERROR_NOT_SUPPORTED
  percents[0] = 70;
  percents[1] = 25;
  return 0;
}

int nvmlDeviceGetMemoryInfo(void*, unsigned long long* bytes) {
  bytes[0] = 8ULL << 30;
  bytes[1] = 5ULL << 30;
  bytes[2] = 3ULL << 30;
  return 0;
}
}
