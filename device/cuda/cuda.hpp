// Opens CUDA devices. CUDA is detected at run time, so one program runs with and without a driver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <device/device.hpp>

namespace penstock {

struct CudaFacts {
  std::string toolkit;               ///< version built with: "13.0"; empty: built without CUDA
  std::string driver;                ///< the newest CUDA version that the driver supports: "13.0"; empty: no driver
  std::string problem;               ///< why no device can be used, in one line; empty if one can
  std::vector<std::string> devices;  ///< Device::description() of each, by number
};

/// Never fails, and creates no context on any device.
CudaFacts cuda_facts();

/// Throws Error: unsupported, with CudaFacts::problem, or because no device has this number; resource, if the driver
/// refuses.
std::shared_ptr<Device> open_cuda_device(int number);

/// Runs `work` in this thread while the context of a CUDA device is current, for libraries that require it.
/// Throws Error: unsupported, for other devices; and the exceptions of `work`.
void in_context(Device& device, const std::function<void()>& work);

}  // namespace penstock
