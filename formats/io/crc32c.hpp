// Computes CRC-32C (Castagnoli), the checksum of every field. Source: RFC 3720, appendix B.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// `crc` continues the result of an earlier call. Folds 256 bytes at a time on processors with carry-less
/// multiplication in 512-bit registers. Other processors use the CRC instruction, or else a table.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

/// Copies and computes the checksum of the written bytes in one pass. On processors that support it, the copy bypasses
/// the caches. Use it for data that is not read again soon.
std::uint32_t copy_with_crc32c(std::byte* to, std::span<const std::byte> bytes);

/// Returns the checksum of two concatenated runs from the checksums of both. Costs as much as summing about 8 KiB.
std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_length);

/// The same as crc32c() by the CRC instruction of SSE4.2 or Arm, for processors that cannot fold.
std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, std::uint32_t crc = 0);

/// The same as crc32c() by a table (slicing by 8), for processors without the instruction.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace penstock
