// Undoing what a container did to a block's bytes. Pure functions over memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <penstock/formats/extent.hpp>

namespace penstock {

/// Filters beside those that HDF5 has built in. Numbers below 32768 are those registered with HDF5.
namespace filter_id {
inline constexpr Filter::Id zstd{32015};  ///< one frame or several, one behind the other
inline constexpr Filter::Id raw_deflate{32768};
inline constexpr Filter::Id crc32{32769};      ///< takes no bytes; parameter: the CRC-32 of what goes in
inline constexpr Filter::Id byte_swap{32770};  ///< parameter: bytes of an element
inline constexpr Filter::Id varint{32771};     ///< int64 values as the varints of protobuf
}  // namespace filter_id

/// Turns the stored bytes of a block into its plain ones: exactly block.decoded_length bytes into `decoded`.
/// `scratch` is grown as needed and may be reused. Throws Error: corrupt (a filter's data is broken or of the wrong
/// length, a checksum differs); unsupported (a filter not known here).
/// Source: HDF5 File Format Specification 3.0, section IV.A.2.l "Data Storage - Filter Pipeline"; deflate is RFC 1950,
/// raw_deflate RFC 1951, zstd RFC 8878, crc32 that of ISO 3309, varint protobuf's "Base 128 Varints".
void undo_filters(const Block& block, std::span<const std::byte> stored, std::span<std::byte> decoded,
                  std::vector<std::byte>& scratch);

/// The most bytes that undoing `filters` can make of `length` stored ones: a corrupt file must not make a reader
/// reserve terabytes. Deflate codes at most 258 bytes in 2 bits, 1032 to 1; zstd 128 KiB in a block of 4 bytes,
/// 32768 to 1; a varint has at least one byte.
std::uint64_t longest_decoded(std::uint64_t length, std::span<const Filter> filters);

}  // namespace penstock
