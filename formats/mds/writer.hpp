// Writes one MDS shard, and the index.json by which mosaicml-streaming finds all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// Creates `path`, which must not exist. Samples gather in an unnamed temporary file beside it, so a shard takes twice
/// its size on disk while it is finished. What add() throws stands in mds.hpp.
std::unique_ptr<ShardWriter> write_mds(const std::filesystem::path& path, const ShardOptions& options);

/// Writes index.json into `folder` from what the shards there say about themselves. Throws Error: io; corrupt.
void write_mds_index(const std::filesystem::path& folder, std::span<const std::string> shards);

/// The value, its size, and a share of the key and its place.
std::uint64_t mds_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
