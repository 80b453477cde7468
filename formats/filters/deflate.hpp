// Decompresses deflate and computes CRC-32. No other file of this layer calls libdeflate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// Fill `plain` exactly. Thread-safe. Throw Error: corrupt (an invalid stream, or one of another length); resource.
/// Source: RFC 1950 (zlib), RFC 1951 (raw).
void inflate_zlib(std::span<const std::byte> stored, std::span<std::byte> plain);
void inflate_raw(std::span<const std::byte> stored, std::span<std::byte> plain);
/// Decompresses a stream of unknown length, which `room` must hold. Returns the length. Throws the same errors.
std::size_t inflate_zlib_up_to(std::span<const std::byte> stored, std::span<std::byte> room);

/// CRC-32 as in zip and gzip (ISO 3309). `crc` continues the result of an earlier call.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace penstock
