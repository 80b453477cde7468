// The element types that HDF5 files written by penstock use.
#pragma once

#include <formats/hdf5/handle.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// Returns the file type that the writer uses: little-endian, as h5py makes them from NumPy's. bool is h5py's
/// enumeration of FALSE and TRUE. bfloat16, which neither supports, is stored as uint16 (the writer adds an attribute
/// "dtype"). The handle is invalid if libhdf5 fails.
Hdf5Handle hdf5_type_of(DType dtype);

}  // namespace penstock
