// Decompresses bzip2, HDF5 filter 307. No other file calls libbz2, which may be absent.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

bool bzip2_is_linked();

/// Fills `plain` exactly from one stream. Thread-safe. Throws Error: corrupt (an invalid stream, or one of another
/// length); unsupported, if libbz2 is not linked; resource. Source: bzip2 1.0.8 (J. Seward), bzlib.h.
void bzip2_decompress(std::span<const std::byte> stored, std::span<std::byte> plain);

}  // namespace penstock
