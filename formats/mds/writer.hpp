// Writes one MDS shard, and the index.json through which mosaicml-streaming finds all shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// Creates `path`, which must not exist. Samples are collected in an unnamed temporary file beside it. Therefore a
/// shard needs twice its size on disk while it is finished. mds.hpp lists the errors of add().
std::unique_ptr<ShardWriter> write_mds(const std::filesystem::path& path, const ShardOptions& options);

/// Writes index.json into `folder` from the descriptions in the shards. Throws Error: io; corrupt.
void write_mds_index(const std::filesystem::path& folder, std::span<const std::string> shards);

/// Estimates the bytes of the value, its size field, and a share of the key and its offset.
std::uint64_t mds_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
