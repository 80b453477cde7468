// Undoes Blosc 1, HDF5 filter 32001. No other file calls libblosc, which may be absent.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

bool blosc_is_linked();

/// Fills `plain` exactly, with the calling thread alone. Any thread.
/// Throws Error: corrupt (a broken buffer, or one of another length); unsupported, where libblosc is not linked.
void blosc_decompress(std::span<const std::byte> stored, std::span<std::byte> plain);

}  // namespace penstock
