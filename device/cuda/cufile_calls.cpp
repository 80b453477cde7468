#include <device/cuda/cufile_calls.hpp>
#include <device/cuda/late_library.hpp>

namespace penstock::cufile {
namespace {

constexpr const char* kNames[] = {"libcufile.so.0", "libcufile.so"};
constexpr const char* kInWheels[] = {"nvidia/cu13/lib/libcufile.so.0", "nvidia/cufile/lib/libcufile.so.0"};
constexpr LateLibrary kLibrary{"cuFile", kVariable, kNames, kInWheels,
                               "a cuFile library that lacks required functions"};

bool find_all(void* file, Calls& calls) {
  find(file, "cuFileGetVersion", calls.version);
  return find(file, "cuFileDriverOpen", calls.open_driver) &&
         find(file, "cuFileDriverGetProperties", calls.properties) &&
         find(file, "cuFileHandleRegister", calls.add_file) &&
         find(file, "cuFileHandleDeregister", calls.remove_file) && find(file, "cuFileBufRegister", calls.add_memory) &&
         find(file, "cuFileBufDeregister", calls.remove_memory) && find(file, "cuFileRead", calls.read);
}

std::string version_of(const Calls& calls) {
  int version = 0;
  if (calls.version == nullptr || calls.version(&version).error != 0) return "unknown version";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

const Library& library() {
  static const Library once = load(kLibrary, find_all, version_of);
  return once;
}

}  // namespace penstock::cufile
