// The entry points of libpenstock_cuda.so, which libpenstock.so loads when a program first asks for CUDA. The library
// is separate because CUDA's runtime needs more thread-local storage than a library that Python loads late may use.
#pragma once

#include <functional>
#include <memory>

#include <device/cuda/cuda.hpp>
#include <device/device.hpp>

namespace penstock {

struct CudaEntry {
  CudaFacts (*facts)();
  std::shared_ptr<Device> (*open)(int number);
  bool (*in_context)(Device& device, const std::function<void()>& work);  ///< false: the device is not a CUDA device
};

inline constexpr const char* kCudaLibrary = "libpenstock_cuda.so";
inline constexpr const char* kCudaEntry = "penstock_cuda_entry";

}  // namespace penstock

extern "C" const penstock::CudaEntry penstock_cuda_entry;
