// The element types that our HDF5 files use.
#pragma once

#include <formats/hdf5/handle.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// The file type that our writer uses: little-endian, as h5py makes them from NumPy's; bool is h5py's enumeration of
/// FALSE and TRUE. bfloat16, which neither knows, is stored as uint16 (the writer says so in an attribute "dtype").
/// The handle is invalid when libhdf5 fails.
Hdf5Handle hdf5_type_of(DType dtype);

}  // namespace penstock
