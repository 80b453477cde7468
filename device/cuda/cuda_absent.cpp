// Replaces cuda_device.cpp in builds without a CUDA toolkit.
#include <device/cuda/cuda.hpp>
#include <device/device.hpp>
#include <penstock/error.hpp>

namespace penstock {

CudaFacts cuda_facts() {
  return {.toolkit = {}, .driver = {}, .problem = "penstock was built without CUDA", .devices = {}};
}

std::shared_ptr<Device> open_cuda_device(int number) {
  throw Error::unsupported("no device cuda:" + std::to_string(number) + ": " + cuda_facts().problem);
}

void in_context(Device& device, const std::function<void()>&) {
  throw Error::unsupported(to_string(device.id()) + " is not a CUDA device");
}

}  // namespace penstock
