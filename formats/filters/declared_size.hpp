// Reads from a compressed frame's headers how many bytes it says it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// The most bytes that the frames in `stored` can decode to: what their headers claim, and no more than the blocks in
/// them can hold. Walks from block to block, decodes nothing and allocates nothing, so that a reader knows whether a
/// length is possible before it takes memory for it. Throws Error: corrupt (a header or block that runs over the end,
/// or cannot be). Sources: RFC 8878, section 3.1; lz4.hpp; c-blosc 1, "Blosc Chunk Format".
std::uint64_t zstd_claim(std::span<const std::byte> stored);
std::uint64_t lz4_claim(std::span<const std::byte> stored);
std::uint64_t blosc_claim(std::span<const std::byte> stored);

}  // namespace penstock
