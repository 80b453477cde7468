// Decompresses LZ4 in the frame of HDF5 filter 32004. No other file calls liblz4, which may be absent.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

bool lz4_is_linked();

/// Fills `plain` exactly. Thread-safe. Throws Error: corrupt (an invalid block, or one of another length); unsupported,
/// if liblz4 is not linked. Source: HDF Group's registered filter plugins. The frame has a big-endian u64 of the plain
/// length and a u32 of the block length. Each block has a u32 of its stored length and either an LZ4 block or, if both
/// lengths are equal, the plain bytes.
void lz4_decompress(std::span<const std::byte> stored, std::span<std::byte> plain);

/// Fills `plain` exactly from one LZ4 block without a frame. Throws the same errors. Source: "LZ4 Block Format
/// Description" (Y. Collet).
void lz4_decompress_block(std::span<const std::byte> stored, std::span<std::byte> plain);

}  // namespace penstock
