// Undoes deflate and computes CRC-32. No other file of this layer calls libdeflate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// Fill `plain` exactly. Throw Error: corrupt (a broken stream, or one of another length); resource. Any thread.
/// Source: RFC 1950 (zlib), RFC 1951 (raw).
void inflate_zlib(std::span<const std::byte> stored, std::span<std::byte> plain);
void inflate_raw(std::span<const std::byte> stored, std::span<std::byte> plain);

/// CRC-32 as zip and gzip have it (ISO 3309). `crc` continues an earlier call's result.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace penstock
