// Computes the checksum of HDF5 metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// Bob Jenkins' lookup3, "hashlittle", with 0 as initial value. Source: burtleburtle.net/bob/c/lookup3.c (public
/// domain); HDF5 File Format Specification 3.0 names it wherever metadata has a checksum.
std::uint32_t hdf5_checksum(std::span<const std::byte> bytes);

}  // namespace penstock
