#include <cstdlib>
#include <filesystem>
#include <vector>

#include <dlfcn.h>

#include <penstock/device/nvjpeg_calls.hpp>

namespace penstock::nvjpeg {
namespace {

constexpr const char* kNames[] = {"libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"};
// In site-packages, beside the folder of penstock.
constexpr const char* kInWheels[] = {"nvidia/cu13/lib/libnvjpeg.so.13", "nvidia/nvjpeg/lib/libnvjpeg.so.12"};
constexpr const char* kVariable = "PENSTOCK_NVJPEG";

std::vector<std::string> in_wheels() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&library), &here) == 0) return {};
  std::error_code unknown;
  const auto file = std::filesystem::canonical(here.dli_fname, unknown);
  std::vector<std::string> paths;
  for (const char* wheel : kInWheels) paths.push_back((file.parent_path().parent_path() / wheel).string());
  return paths;
}

void* opened(const char* file, int more = 0) {
  return ::dlopen(file, RTLD_NOW | RTLD_LOCAL | more);
}

void* opened_somewhere() {
  if (const char* named = std::getenv(kVariable)) return opened(named);
  for (const char* name : kNames) {
    if (void* loaded = opened(name, RTLD_NOLOAD)) return loaded;
  }
  for (const std::string& path : in_wheels()) {
    if (void* found = opened(path.c_str())) return found;
  }
  for (const char* name : kNames) {
    if (void* found = opened(name)) return found;
  }
  return nullptr;
}

template <typename Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

bool find_all(void* file, Calls& calls) {
  return find(file, "nvjpegGetProperty", calls.get_property) && find(file, "nvjpegCreateEx", calls.create) &&
         find(file, "nvjpegDestroy", calls.destroy) && find(file, "nvjpegJpegStateCreate", calls.create_state) &&
         find(file, "nvjpegJpegStateDestroy", calls.destroy_state) &&
         find(file, "nvjpegJpegStreamCreate", calls.create_stream) &&
         find(file, "nvjpegJpegStreamDestroy", calls.destroy_stream) &&
         find(file, "nvjpegJpegStreamParseHeader", calls.parse_header) &&
         find(file, "nvjpegJpegStreamGetFrameDimensions", calls.frame_size) &&
         find(file, "nvjpegJpegStreamGetComponentsNum", calls.components) &&
         find(file, "nvjpegDecodeBatchedSupported", calls.supported) &&
         find(file, "nvjpegDecodeBatchedInitialize", calls.begin_batch) &&
         find(file, "nvjpegDecodeBatched", calls.decode_batch);
}

std::string version_of(const Calls& calls) {
  std::string text;
  for (int part = 0; part < 3; ++part) {  // major, minor, patch: library_types.h
    int value = 0;
    if (calls.get_property(part, &value) != Status::success) return {};
    text += (part == 0 ? "" : ".") + std::to_string(value);
  }
  return text;
}

Library load() {
  Library found;
  void* const file = opened_somewhere();
  if (file == nullptr) {
    const char* const why = std::getenv(kVariable) != nullptr ? ::dlerror() : nullptr;
    found.problem = why != nullptr ? std::string("cannot load nvJPEG: ") + why : "no nvJPEG";
    return found;
  }
  if (!find_all(file, found.calls)) {
    found.problem = "an nvJPEG without batched decoding";
    return found;
  }
  Dl_info where{};
  if (::dladdr(reinterpret_cast<const void*>(found.calls.create), &where) != 0) found.path = where.dli_fname;
  found.version = version_of(found.calls);
  return found;
}

}  // namespace

const Library& library() {
  static const Library once = load();
  return once;
}

}  // namespace penstock::nvjpeg
