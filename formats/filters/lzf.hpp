// Decompresses LZF, h5py's own compression.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

/// Fills `plain` exactly. Thread-safe. Throws Error: corrupt (an invalid stream, or one of another length). Source: the
/// format of liblzf 3.6 (M. Lehmann), which HDF5 filter 32000 stores without a header.
void lzf_decompress(std::span<const std::byte> stored, std::span<std::byte> plain);
/// Decompresses a stream of unknown length, which `room` must hold. Returns the length. Throws the same errors.
std::size_t lzf_decompress_up_to(std::span<const std::byte> stored, std::span<std::byte> room);

}  // namespace penstock
