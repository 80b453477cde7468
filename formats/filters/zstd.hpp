// Decompresses Zstandard. No other file calls libzstd, which may be absent.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace penstock {

bool zstd_is_linked();
/// Remedy at the end of a message if libzstd is absent.
inline constexpr std::string_view kZstdIsAbsent = "this build has no zstd (install libzstd-dev and build again)";

/// Fills `plain` exactly from one or more frames. Thread-safe. Throws Error: corrupt (an invalid frame, or one of
/// another length); unsupported, if libzstd is not linked; resource. Source: RFC 8878.
void zstd_decompress(std::span<const std::byte> stored, std::span<std::byte> plain);

}  // namespace penstock
