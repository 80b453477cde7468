// Declares the calls of cuFile that penstock makes, because its header is rarely where penstock is built.
// Source: cufile.h of cuFile 1.20, and the cuFile API reference: these calls are the same since cuFile 1.0.
#pragma once

#include <cstddef>

#include <sys/types.h>

#include <device/cuda/late_library.hpp>

namespace penstock::cufile {

using Handle = void*;

/// `error`: 0, or above 5000; `cuda`: CUresult, where that is 5011.
struct Status {
  int error = 0, cuda = 0;
};

struct Descriptor {
  int type;  ///< 1: a descriptor of Linux
  union {
    int fd;
    void* handle;
  } of;
  const void* operations;  ///< of file systems in user space; null: none
};

struct Properties {
  unsigned driver_major, driver_minor;  ///< of nvidia-fs
  std::size_t poll_threshold, max_direct_io;
  unsigned supported;  ///< a bit for each kind of storage with a direct path
  unsigned control;
  unsigned more[32];  ///< that is not looked at here, and has grown before
};

struct Calls {
  Status (*open_driver)() = nullptr;
  Status (*properties)(Properties* properties) = nullptr;
  Status (*add_file)(Handle* file, Descriptor* descriptor) = nullptr;
  void (*remove_file)(Handle file) = nullptr;
  Status (*add_memory)(const void* memory, std::size_t bytes, int flags) = nullptr;
  Status (*remove_memory)(const void* memory) = nullptr;
  /// Bytes; -1 and errno; or minus a Status::error.
  ssize_t (*read)(Handle file, void* memory, std::size_t bytes, off_t offset, off_t at) = nullptr;
  Status (*version)(int* version) = nullptr;  ///< 1200 is 1.20; null in old ones
};

/// Of the environment: names the file.
inline constexpr const char* kVariable = "PENSTOCK_CUFILE";

using Library = LoadedLibrary<Calls>;
/// Once for the process.
const Library& library();

}  // namespace penstock::cufile
