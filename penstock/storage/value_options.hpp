// Names how a loader checks the values that it reads, and what it keeps of them.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

/// When bytes that were read are compared with the CRC-32C recorded for them: never; the first time this loader reads a
/// value, or a part of one; each time.
enum class Checksums : std::uint8_t { off, first, always };
std::string_view name(Checksums checksums);        ///< "off", "first", "always"
Checksums checksums_named(std::string_view name);  ///< Throws Error: invalid_argument.

struct CheckStats {
  std::uint64_t checked = 0, checked_bytes = 0;      ///< values, or ranges of values read in part
  std::uint64_t unchecked = 0, unchecked_bytes = 0;  ///< values without a recorded checksum, or read by a device
  std::uint64_t mismatches = 0;                      ///< of the first read; a second one may have cured them
  friend bool operator==(const CheckStats&, const CheckStats&) = default;
};

/// What a loader's cache keeps of the samples that it has read.
enum class CacheKind : std::uint8_t {
  none,
  encoded,  ///< stored bytes, blocks undone
  decoded,  ///< images as pixels, before any crop or draw; rows that nothing is drawn for as they are; else as
            ///< `encoded`
};
std::string_view name(CacheKind kind);
CacheKind cache_named(std::string_view name);  ///< Throws Error: invalid_argument.

/// Who shares that cache: the threads of one process, or all processes of this user on the node that read the same
/// samples in the same way.
enum class CacheScope : std::uint8_t { process, node };
std::string_view name(CacheScope scope);
CacheScope cache_scope_named(std::string_view name);  ///< Throws Error: invalid_argument.

}  // namespace penstock
