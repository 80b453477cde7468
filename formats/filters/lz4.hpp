// Undoes LZ4 in the frame of HDF5 filter 32004. No other file calls liblz4, which may be absent.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

bool lz4_is_linked();

/// Fills `plain` exactly. Any thread.
/// Throws Error: corrupt (a broken block, or one of another length); unsupported, where liblz4 is not linked.
/// Source: a big-endian u64 of the plain length and u32 of a block's, then per block a u32 of its stored length and
/// either an LZ4 block or, where both lengths are equal, the plain bytes (HDF Group's registered filter plugins).
void lz4_decompress(std::span<const std::byte> stored, std::span<std::byte> plain);

}  // namespace penstock
