#include <cstdlib>
#include <filesystem>

#include <penstock/device/late_library.hpp>

namespace penstock {
namespace {

void* open_file(const char* file, int more = 0) {
  return ::dlopen(file, RTLD_NOW | RTLD_LOCAL | more);
}

std::filesystem::path site_packages() {
  std::error_code unknown;
  const auto here = std::filesystem::canonical(file_of(reinterpret_cast<const void*>(&opened)), unknown);
  return here.parent_path().parent_path();
}

}  // namespace

void* opened(const LateLibrary& library) {
  if (const char* named = std::getenv(library.variable)) return open_file(named);
  for (const char* name : library.names) {
    if (void* loaded = open_file(name, RTLD_NOLOAD)) return loaded;
  }
  const std::filesystem::path wheels = site_packages();
  for (const char* path : library.in_wheels) {
    if (void* found = wheels.empty() ? nullptr : open_file((wheels / path).c_str())) return found;
  }
  for (const char* name : library.names) {
    if (void* found = open_file(name)) return found;
  }
  return nullptr;
}

std::string file_of(const void* symbol) {
  Dl_info where{};
  return ::dladdr(symbol, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : "";
}

}  // namespace penstock
