// Reads the declared size of compressed data from the headers of its frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// Returns an upper limit for the decompressed size of the frames in `stored`: the size that their headers declare,
/// limited by the capacity of their blocks. Walks from block to block without decoding or allocating. A reader can
/// therefore check that a length is possible before it allocates memory. Throws Error: corrupt (an invalid header or
/// block, or one that extends past the end). Sources: RFC 8878, section 3.1; lz4.hpp; c-blosc 1, "Blosc Chunk Format".
std::uint64_t zstd_claim(std::span<const std::byte> stored);
std::uint64_t lz4_claim(std::span<const std::byte> stored);
std::uint64_t blosc_claim(std::span<const std::byte> stored);
/// `element`: bytes of an element. The first is for bitshuffle with LZ4 or Zstandard. The second has no limit if all
/// elements are equal, because such a block has only a header. Sources: bitshuffle.hpp; scale_offset.hpp.
std::uint64_t bitshuffle_claim(std::span<const std::byte> stored, std::uint64_t element);
std::uint64_t scale_offset_claim(std::span<const std::byte> stored, std::uint64_t element);

}  // namespace penstock
