// Computes CRC-32C (Castagnoli), the checksum kept for every field. Source: RFC 3720, appendix B.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// `crc` continues an earlier call's result. Folds 256 bytes at a time where the processor multiplies without carries
/// in registers of 512 bits, else runs its instruction, else a table.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

/// Copies, and sums up what was written, in one pass. Where the processor can, the copy goes past the caches: for what
/// is not read again soon.
std::uint32_t copy_with_crc32c(std::byte* to, std::span<const std::byte> bytes);

/// That of two runs of bytes, one behind the other, from those of each: takes as long as summing up some 8 KiB.
std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_length);

/// The same as crc32c() by SSE4.2's instruction: what processors run that cannot fold.
std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes, std::uint32_t crc = 0);

/// The same as crc32c() by table alone (slicing by 8): what processors without the instruction run.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace penstock
