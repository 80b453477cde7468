// Computes the checksum of HDF5 metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// Bob Jenkins' lookup3, "hashlittle", with the initial value 0. Source: burtleburtle.net/bob/c/lookup3.c (public
/// domain), to which HDF5 File Format Specification 3.0 refers for all checksums of metadata.
std::uint32_t hdf5_checksum(std::span<const std::byte> bytes);

}  // namespace penstock
