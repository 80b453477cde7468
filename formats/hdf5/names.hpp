// The names that HDF5 files written by penstock use.
#pragma once

namespace penstock {

constexpr const char* kHdf5Bytes = "bytes";
constexpr const char* kHdf5Offsets = "offsets";
constexpr const char* kHdf5Key = "__key__";
constexpr const char* kHdf5Present = "__present__";
constexpr const char* kHdf5Codec = "codec";  // attribute
constexpr const char* kHdf5DType = "dtype";  // attribute, if the element type does not show it (bfloat16)

}  // namespace penstock
