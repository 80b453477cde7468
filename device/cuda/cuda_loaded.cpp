#include <filesystem>
#include <string>

#include <dlfcn.h>

#include <device/cuda/cuda_entry.hpp>
#include <device/device.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct Loaded {
  const CudaEntry* entry = nullptr;
  std::string problem;
};

Loaded load() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&cuda_facts), &here) == 0)
    return {nullptr, "cannot find the folder of penstock"};
  const std::filesystem::path library = std::filesystem::path(here.dli_fname).parent_path() / kCudaLibrary;
  void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (opened == nullptr) return {nullptr, std::string("cannot load penstock's CUDA library: ") + ::dlerror()};
  const void* const entry = ::dlsym(opened, kCudaEntry);
  if (entry == nullptr) return {nullptr, std::string(kCudaLibrary) + " belongs to another version of penstock"};
  return {static_cast<const CudaEntry*>(entry), {}};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

CudaFacts cuda_facts() {
  if (loaded().entry != nullptr) return loaded().entry->facts();
  return {.toolkit = {}, .driver = {}, .problem = loaded().problem, .devices = {}};
}

std::shared_ptr<Device> open_cuda_device(int number) {
  if (loaded().entry != nullptr) return loaded().entry->open(number);
  throw Error::unsupported("no device cuda:" + std::to_string(number) + ": " + loaded().problem);
}

void in_context(Device& device, const std::function<void()>& work) {
  if (loaded().entry != nullptr && loaded().entry->in_context(device, work)) return;
  throw Error::unsupported(to_string(device.id()) + " is not a CUDA device");
}

}  // namespace penstock
