#include <cstdlib>
#include <filesystem>

#include <link.h>

#include <device/cuda/late_library.hpp>

namespace penstock {
namespace {

void* open_file(const char* file, int more = 0) {
  return ::dlopen(file, RTLD_NOW | RTLD_LOCAL | more);
}

std::filesystem::path site_packages() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&opened), &here) == 0 || here.dli_fname == nullptr) return {};
  std::error_code unknown;
  return std::filesystem::canonical(here.dli_fname, unknown).parent_path().parent_path();
}

void* open_somewhere(const LateLibrary& library) {
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

}  // namespace

void* opened(const LateLibrary& library, LibraryFacts& facts) {
  void* const file = open_somewhere(library);
  if (file == nullptr) {
    const char* const why = std::getenv(library.variable) != nullptr ? ::dlerror() : nullptr;
    facts.problem =
        why != nullptr ? std::string("cannot load ") + library.name + ": " + why : std::string("no ") + library.name;
    return nullptr;
  }
  const link_map* loaded = nullptr;
  if (::dlinfo(file, RTLD_DI_LINKMAP, &loaded) == 0) facts.library = loaded->l_name;
  return file;
}

}  // namespace penstock
