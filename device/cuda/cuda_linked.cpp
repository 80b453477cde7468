// Replaces cuda_loaded.cpp if the CUDA code is linked into the program itself.
#include <device/cuda/cuda_entry.hpp>
#include <device/device.hpp>
#include <penstock/error.hpp>

namespace penstock {

CudaFacts cuda_facts() {
  return penstock_cuda_entry.facts();
}

std::shared_ptr<Device> open_cuda_device(int number) {
  return penstock_cuda_entry.open(number);
}

void in_context(Device& device, const std::function<void()>& work) {
  if (penstock_cuda_entry.in_context(device, work)) return;
  throw Error::unsupported(to_string(device.id()) + " is not a CUDA device");
}

}  // namespace penstock
