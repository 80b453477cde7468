// Decompresses bitshuffle, HDF5 filter 32008: elements transposed by bits, alone or compressed with LZ4 or Zstandard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// Elements are transposed in groups of this number.
inline constexpr std::uint64_t kBitshuffleMultiple = 8;

/// Returns the elements of a block that the filter chooses for elements of `element` bytes, which must not be 0.
std::uint64_t bitshuffle_default_block(std::uint64_t element);

/// Source: bitshuffle 0.5 (K. Masui), bshuf_h5filter.c and bitshuffle_core.c. The elements are cut into blocks of a
/// multiple of 8 elements. The last block has the remaining multiple of 8. Up to 7 elements after it are unchanged.
/// A transposed block has a row for each bit of an element, beginning with the lowest bit of the first byte. Each byte
/// of a row has the bits of 8 elements, beginning with the lowest bit.
///
/// Fills `plain`, which has the length of `stored`. `element` is the bytes of an element, `block` the elements of a
/// block. Thread-safe. Throws Error: corrupt (partial elements, an invalid block size).
void bitunshuffle(std::span<const std::byte> stored, std::span<std::byte> plain, std::uint64_t element,
                  std::uint64_t block);

/// Decompress the blocks too. A big-endian u64 of the plain length and a u32 of the bytes of a block are in front.
/// Each block has a u32 of its stored length, and LZ4 or a frame of Zstandard. Fills `plain` exactly. Thread-safe.
/// Throws Error: corrupt (an invalid block, or one of another length); unsupported, if the library is not linked.
void bitshuffle_lz4_decompress(std::span<const std::byte> stored, std::span<std::byte> plain, std::uint64_t element);
void bitshuffle_zstd_decompress(std::span<const std::byte> stored, std::span<std::byte> plain, std::uint64_t element);

}  // namespace penstock
