// In the place of libcudart_static.a: the calls of CUDA's runtime that device/cuda/cuda_device.cpp makes, here those
// about devices and errors. Source: CUDA Runtime API 13.0; fake_cuda.hpp says where they are stricter.
#include <algorithm>
#include <cstring>
#include <utility>

#include "fake_cuda_call.hpp"

namespace penstock::test::cuda {
namespace {

int get_current(CUctx_st** context) {
  *context = this_thread().current;
  return 0;
}

int set_current(CUctx_st* context) {
  constexpr int kInvalidContext = 201;
  State& all = state();
  const Lock lock(all.mutex);
  const auto is = [&](const auto& each) { return each.get() == context; };
  if (context != nullptr && std::ranges::none_of(all.contexts, is)) return kInvalidContext;
  if (all.refusal("cuCtxSetCurrent") != cudaSuccess) return kInvalidContext;
  this_thread().current = context;
  return 0;
}

}  // namespace
}  // namespace penstock::test::cuda

using namespace penstock::test::cuda;

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorHostMemoryAlreadyRegistered:
      return "cudaErrorHostMemoryAlreadyRegistered";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    default:
      return "an error of CUDA's";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "the stand-in was told to";
}

cudaError_t cudaGetLastError() {
  return std::exchange(this_thread().last, cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  const Lock lock(state().mutex);
  *count = kDevices;
  return noted(state().refusal("cudaGetDeviceCount"));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Lock lock(state().mutex);
  if (const cudaError_t error = state().refusal("cudaGetDeviceProperties"); error != cudaSuccess) return noted(error);
  if (device < 0 || device >= kDevices) return noted(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "a GPU's stand-in");
  properties->totalGlobalMem = std::size_t{3} << 29;
  properties->major = 9;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const Lock lock(state().mutex);
  const bool get = std::strcmp(name, "cuCtxGetCurrent") == 0, set = std::strcmp(name, "cuCtxSetCurrent") == 0;
  if (const cudaError_t error = state().refusal("cudaGetDriverEntryPointByVersion"); error != cudaSuccess) {
    return noted(error);
  }
  *result = !get && !set     ? cudaDriverEntryPointSymbolNotFound
            : version < 4000 ? cudaDriverEntryPointVersionNotSufficent
                             : cudaDriverEntryPointSuccess;
  *found = nullptr;
  if (*result != cudaDriverEntryPointSuccess) return cudaSuccess;
  *found = get ? reinterpret_cast<void*>(get_current) : reinterpret_cast<void*>(set_current);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const Lock lock(state().mutex);
  if (device < 0 || device >= kDevices) return noted(cudaErrorInvalidDevice);
  ThreadState& thread = this_thread();
  thread.device = device;
  thread.current = &state().begin(device);
  return noted(state().refusal("cudaSetDevice"));  // later: a device that refuses may be current all the same
}

}  // extern "C"
