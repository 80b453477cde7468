// Reverses the filters that a container applied to a block's bytes. The functions are pure and work in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <formats/extent.hpp>

namespace penstock {

/// Turns the stored bytes of a block into its plain bytes: exactly block.decoded_length bytes into `decoded`. `scratch`
/// grows if necessary and may be reused. Throws Error: corrupt (a filter's data is invalid or has the wrong length, a
/// checksum differs); unsupported (an unknown filter, or one whose library this build lacks). Source: HDF5 File Format
/// Specification 3.0, section IV.A.2.l "Data Storage - Filter Pipeline". The filter deflate is RFC 1950, raw_deflate
/// RFC 1951, zstd RFC 8878, crc32 that of ISO 3309, and varint protobuf's "Base 128 Varints". The headers of the other
/// filters name their sources.
void undo_filters(const Block& block, std::span<const std::byte> stored, std::span<std::byte> decoded,
                  std::vector<std::byte>& scratch);

/// The same, but allocates `decoded`, and only if the stored bytes can be the block's. The frames of zstd, lz4, blosc
/// and compressed bitshuffle declare their size, so a few corrupt bytes never cost gigabytes. Overwrites the previous
/// content of `decoded`.
void undo_filters(const Block& block, std::span<const std::byte> stored, std::vector<std::byte>& decoded,
                  std::vector<std::byte>& scratch);

/// Returns whether this build can reverse the filter. Some filters need libraries that may be absent.
bool can_undo(Filter::Id id);
/// Returns whether this build can reverse all filters of a block. Only deflate and lzf may compress what scale-offset
/// has compressed.
bool can_undo(std::span<const Filter> filters);

/// Upper limit for the bytes that `filters` can make from `length` stored bytes. Prevents a corrupt file from making a
/// reader reserve terabytes.
std::uint64_t longest_decoded(std::uint64_t length, std::span<const Filter> filters);

}  // namespace penstock
