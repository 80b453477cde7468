// Undoes what a container did to a block's bytes. The functions are pure and work in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <formats/extent.hpp>

namespace penstock {

/// Turns the stored bytes of a block into its plain ones: exactly block.decoded_length bytes into `decoded`.
/// `scratch` is grown as needed and may be reused. Throws Error: corrupt (a filter's data is broken or of the wrong
/// length, a checksum differs); unsupported (a filter not known here, or one whose library this build lacks).
/// Source: HDF5 File Format Specification 3.0, section IV.A.2.l "Data Storage - Filter Pipeline"; deflate is RFC 1950,
/// raw_deflate RFC 1951, zstd RFC 8878, crc32 that of ISO 3309, varint protobuf's "Base 128 Varints"; lzf.hpp, lz4.hpp
/// and blosc.hpp name the others.
void undo_filters(const Block& block, std::span<const std::byte> stored, std::span<std::byte> decoded,
                  std::vector<std::byte>& scratch);

/// The same into memory that is taken here, and only where the stored bytes can be the block's: the frames of zstd, lz4
/// and blosc tell how much they hold, so that a few broken bytes never cost gigabytes. What `decoded` held is lost.
void undo_filters(const Block& block, std::span<const std::byte> stored, std::vector<std::byte>& decoded,
                  std::vector<std::byte>& scratch);

/// Whether this build can undo the filter: some need libraries that may be absent.
bool can_undo(Filter::Id id);

/// The most bytes that undoing `filters` can make of `length` stored ones: a corrupt file must not make a reader
/// reserve terabytes.
std::uint64_t longest_decoded(std::uint64_t length, std::span<const Filter> filters);

}  // namespace penstock
