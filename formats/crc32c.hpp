// CRC-32C (Castagnoli), the checksum kept for every field. Source: RFC 3720, appendix B.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// `crc` continues an earlier call's result. Uses the SSE4.2 instruction where the processor has it.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

/// That of two runs of bytes, one behind the other, from those of each: takes as long as summing up some 8 KiB.
std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::uint64_t second_length);

/// The same as crc32c() by table alone (slicing by 8): what processors without the instruction run.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace penstock
