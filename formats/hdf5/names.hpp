// The names that our HDF5 files use.
#pragma once

namespace penstock {

constexpr const char* kHdf5Bytes = "bytes";
constexpr const char* kHdf5Offsets = "offsets";
constexpr const char* kHdf5Key = "__key__";
constexpr const char* kHdf5Present = "__present__";
constexpr const char* kHdf5Codec = "codec";  // attribute
constexpr const char* kHdf5DType = "dtype";  // attribute, where the element type does not say it (bfloat16)

}  // namespace penstock
