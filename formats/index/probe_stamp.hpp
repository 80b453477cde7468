// Computes a cheap stamp of a file's content.
#pragma once

#include <cstdint>
#include <filesystem>

namespace penstock {

/// A hash of the size and of 4 KiB at the start, in the middle and at the end: what a container's first and last
/// headers lie in, and data between them. Throws Error: io. Source: FNV-1a, 64 bits, draft-eastlake-fnv.
std::uint64_t probe_stamp(const std::filesystem::path& file);

}  // namespace penstock
