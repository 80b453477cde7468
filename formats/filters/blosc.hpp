// Decompresses Blosc 1, HDF5 filter 32001. No other file calls libblosc, which may be absent.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

bool blosc_is_linked();

/// Fills `plain` exactly, using only the calling thread. Thread-safe. Throws Error: corrupt (invalid data, or data of
/// another length); unsupported, if libblosc is not linked.
void blosc_decompress(std::span<const std::byte> stored, std::span<std::byte> plain);

}  // namespace penstock
