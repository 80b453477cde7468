// Computes a cheap stamp of a file's content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace penstock {

/// Returns a hash of the size and of 4 KiB at the start, in the middle and at the end. These parts contain a
/// container's first and last headers, and data between them. Throws Error: io. Source: FNV-1a, 64 bits,
/// draft-eastlake-fnv.
std::uint64_t probe_stamp(const std::filesystem::path& file);

inline constexpr std::uint64_t kProbedBytes = 4096;  ///< at each of the three places

/// The same for bytes from `read`, which fills `into` with as many bytes as exist from the offset on, and returns their
/// number.
std::uint64_t probe_stamp(std::uint64_t size,
                          const std::function<std::size_t(std::uint64_t offset, std::span<std::byte> into)>& read);

}  // namespace penstock
