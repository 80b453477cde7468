// Writes one zip shard that any zip program reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// Creates `path`, which must not exist. What add() throws stands in zip.hpp; invalid_argument, when `align` is no
/// power of two or above 32 KiB.
std::unique_ptr<ShardWriter> write_zip(const std::filesystem::path& path, const ShardOptions& options);

/// Both headers with the name, and the value.
std::uint64_t zip_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
