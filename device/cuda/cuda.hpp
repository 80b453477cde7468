// Opens CUDA devices, if there are any: this is found out at run time, so one program runs with and without a driver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <device/device.hpp>

namespace penstock {

struct CudaFacts {
  std::string toolkit;               ///< built with: "13.0"; empty: built without CUDA
  std::string driver;                ///< the newest CUDA that the driver knows: "13.0"; empty: no driver
  std::string problem;               ///< why no device can be used, in one line; empty where one can
  std::vector<std::string> devices;  ///< as Device::description() tells them, by number
};

/// Never fails, and begins no context on any device.
CudaFacts cuda_facts();

/// Throws Error: unsupported, with CudaFacts::problem, or because there is no device of that number; resource, where
/// the driver refuses.
std::shared_ptr<Device> open_cuda_device(int number);

/// Runs `work` in this thread with the context of a device of CUDA's current, for libraries that expect it so.
/// Throws Error: unsupported, for other devices; what `work` throws.
void in_context(Device& device, const std::function<void()>& work);

}  // namespace penstock
