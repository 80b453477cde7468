// The door of libpenstock_cuda.so, which libpenstock.so loads when a program first asks for CUDA. It is a library of
// its own because CUDA's runtime keeps more for each thread than a library that Python loads late may.
#pragma once

#include <memory>

#include <penstock/device/cuda.hpp>

namespace penstock {

struct CudaEntry {
  CudaFacts (*facts)();
  std::shared_ptr<Device> (*open)(int number);
};

inline constexpr const char* kCudaLibrary = "libpenstock_cuda.so";
inline constexpr const char* kCudaEntry = "penstock_cuda_entry";

}  // namespace penstock

extern "C" const penstock::CudaEntry penstock_cuda_entry;
