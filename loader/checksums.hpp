// Tells when values are compared with their checksums, and counts the comparisons.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

/// When bytes that were read are compared with the CRC-32C recorded for them: never; the first time this loader reads a
/// value, or a part of one; each time.
enum class Checksums : std::uint8_t { off, first, always };
std::string_view name(Checksums checksums);        ///< "off", "first", "always"
Checksums checksums_named(std::string_view name);  ///< throws Error: invalid_argument

struct CheckStats {
  std::uint64_t checked = 0, checked_bytes = 0;      ///< values, or ranges of values read in part
  std::uint64_t unchecked = 0, unchecked_bytes = 0;  ///< values read for which nothing is recorded, or read by a device
  std::uint64_t mismatches = 0;                      ///< of the first read; a second one may have cured them
};

}  // namespace penstock
