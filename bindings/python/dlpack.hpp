// Declares the structures that pass arrays between libraries, with the layouts of DLPack.
// Source: dmlc/dlpack, include/dlpack/dlpack.h, version 1.1. Names follow this project's style.
#pragma once

#include <cstdint>

namespace penstock::dlpack {

inline constexpr std::uint32_t kMajor = 1, kMinor = 1;
inline constexpr std::int32_t kCpu = 1, kCuda = 2;  // kDLCPU, kDLCUDA
inline constexpr std::uint64_t kFlagCopied = 2;     // DLPACK_FLAG_BITMASK_IS_COPIED
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct Device {
  std::int32_t type, id;
};

struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct Array {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};

/// Held by capsules named "dltensor".
struct Managed {
  Array array;
  void* context;
  void (*deleter)(Managed* self);
};

/// Held by capsules named "dltensor_versioned".
struct ManagedVersioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  std::uint64_t flags;
  Array array;
};

}  // namespace penstock::dlpack
