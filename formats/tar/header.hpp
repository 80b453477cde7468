// Reads and writes the header block of a tar member.
//
//     0 name[100]   100 mode[8]   108 uid[8]   116 gid[8]   124 size[12]   136 mtime[12]   148 checksum[8]   156 type
//   157 link[100]   257 magic[8]  265 user[32] 297 group[32] 329 device[16] 345 prefix[155]                  500 unused
//
// Numbers are octal text, or base-256 if the first bit is set (GNU, star). Data follows the header, padded to 512.
// Source: POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar 1.34 manual, "Basic Tar Format".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

inline constexpr std::size_t kTarBlock = 512;

/// Returns the space in the archive for `size` bytes of data.
constexpr std::uint64_t tar_padded(std::uint64_t size) {
  return (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

struct TarHeader {
  std::string name;  ///< including the ustar prefix
  std::string link_name;
  char type = '0';  ///< '\0' in archives older than POSIX
  std::uint64_t size = 0;
};

bool is_zero_block(std::string_view block);
/// Returns true if the checksum is present and correct. Some old writers summed signed bytes, which is accepted. False
/// for a block of zeros.
bool tar_checksum_matches(std::string_view block);
/// `block` must have 512 bytes and a correct checksum. Throws Error: corrupt (a required number is missing, or beyond
/// 2^63).
TarHeader read_tar_header(std::string_view block);

/// Returns a ustar header with mode 0644, time 0 and no owner. `name` is cut to the part that fits into name and prefix
/// (see fits_ustar). A size beyond 8 GiB is written as 0. In both cases a preceding pax header must contain the true
/// value.
std::string write_tar_header(std::string_view name, char type, std::uint64_t size);
/// Returns true if name and prefix can hold `name` unchanged: at most 100 + 155 ASCII characters that split at a slash.
bool fits_ustar(std::string_view name);
inline constexpr std::uint64_t kUstarMaxSize = 077777777777;  ///< 8 GiB - 1: eleven octal digits

}  // namespace penstock
