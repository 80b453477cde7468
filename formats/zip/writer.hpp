// Writes one zip shard that any zip program can read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// Creates `path`, which must not exist. zip.hpp lists the errors of add(). Throws Error: invalid_argument, if `align`
/// is not a power of two or is above 32 KiB.
std::unique_ptr<ShardWriter> write_zip(const std::filesystem::path& path, const ShardOptions& options);

/// Counts both headers with the name, and the value.
std::uint64_t zip_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
