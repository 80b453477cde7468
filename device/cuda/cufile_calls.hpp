// Declares the cuFile calls that penstock uses, because build machines rarely have its header.
// Source: cufile.h of cuFile 1.20, and the cuFile API reference. These calls have not changed since cuFile 1.0.
#pragma once

#include <cstddef>

#include <sys/types.h>

#include <device/cuda/late_library.hpp>

namespace penstock::cufile {

using Handle = void*;

/// `error`: 0, or above 5000. `cuda`: a CUresult, if `error` is 5011.
struct Status {
  int error = 0, cuda = 0;
};

struct Descriptor {
  int type;  ///< 1: a Linux descriptor
  union {
    int fd;
    void* handle;
  } of;
  const void* operations;  ///< for file systems in user space; null: none
};

struct Properties {
  unsigned driver_major, driver_minor;  ///< of nvidia-fs
  std::size_t poll_threshold, max_direct_io;
  unsigned supported;  ///< a bit for each kind of storage with a direct path
  unsigned control;
  unsigned more[32];  ///< not used here; has grown in earlier versions
};

struct Calls {
  Status (*open_driver)() = nullptr;
  Status (*properties)(Properties* properties) = nullptr;
  Status (*add_file)(Handle* file, Descriptor* descriptor) = nullptr;
  void (*remove_file)(Handle file) = nullptr;
  Status (*add_memory)(const void* memory, std::size_t bytes, int flags) = nullptr;
  Status (*remove_memory)(const void* memory) = nullptr;
  /// Returns the number of bytes; -1 with errno; or minus a Status::error.
  ssize_t (*read)(Handle file, void* memory, std::size_t bytes, off_t offset, off_t at) = nullptr;
  Status (*version)(int* version) = nullptr;  ///< 1200 is 1.20; null in old libraries
};

/// Environment variable that names the library file.
inline constexpr const char* kVariable = "PENSTOCK_CUFILE";

using Library = LoadedLibrary<Calls>;
/// Loaded once per process.
const Library& library();

}  // namespace penstock::cufile
