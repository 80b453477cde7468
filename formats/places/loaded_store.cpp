#include <atomic>
#include <filesystem>
#include <string>
#include <system_error>

#include <dlfcn.h>

#include <formats/places/object_store.hpp>
#include <formats/places/object_store_entry.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::atomic<ObjectStore*> replacement{nullptr};

struct LoadedStore {
  ObjectStore* store = nullptr;
  std::string problem = {};
};

#ifdef PENSTOCK_REMOTE_LINKED

LoadedStore load_store() {
  return {penstock_remote_0_1_0()};
}

#else

LoadedStore load_store() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&object_store), &here) == 0)
    return {nullptr, "the path of the penstock library is unknown"};
  const std::filesystem::path library = std::filesystem::path(here.dli_fname).parent_path() / kRemoteLibrary;
  std::error_code unknown;
  if (!std::filesystem::exists(library, unknown) && !unknown)
    return {nullptr, "this build has none (install the headers of libcurl, libcrypto and expat and build again)"};
  void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (opened == nullptr) return {nullptr, ::dlerror()};
  void* const entry = ::dlsym(opened, kRemoteEntry);
  if (entry == nullptr) return {nullptr, std::string(kRemoteLibrary) + " belongs to another version of penstock"};
  return {reinterpret_cast<RemoteEntry>(entry)()};
}

#endif

}  // namespace

ObjectStore& object_store() {
  if (ObjectStore* const other = replacement.load()) return *other;
  static const LoadedStore loaded = load_store();
  if (loaded.store == nullptr)
    throw Error::unsupported("the part of penstock that reads object stores cannot be loaded: " + loaded.problem);
  return *loaded.store;
}

void use_object_store(ObjectStore* store) {
  replacement = store;
}

}  // namespace penstock
