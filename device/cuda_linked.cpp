// In the place of cuda_loaded.cpp, where CUDA's part is in the program itself.
#include <penstock/device/cuda_entry.hpp>

namespace penstock {

CudaFacts cuda_facts() {
  return penstock_cuda_entry.facts();
}

std::shared_ptr<Device> open_cuda_device(int number) {
  return penstock_cuda_entry.open(number);
}

}  // namespace penstock
