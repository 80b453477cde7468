// Computes what penstock.json says of a shard from the shard's files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <formats/index/index.hpp>
#include <formats/packed/manifest.hpp>

namespace penstock {

/// What the manifest says of the shard whose files lie in `folder`. Reads all of them.
/// Throws Error: io; corrupt, when a file's length is not the indexed one.
ManifestShard describe_shard(const std::filesystem::path& folder, std::string name, const Index& index);

/// The same for a shard that was just written, without reading its long values again: their checksums in the index are
/// of the bytes that were to be written. Should the files hold anything else, describe_shard() will differ.
ManifestShard describe_written_shard(const std::filesystem::path& folder, std::string name, const Index& index);

/// The same for a shard of one file that was summed up while it was written.
ManifestShard describe_stored_shard(std::string name, const Index& index, std::uint32_t crc32c);

/// Compares the shard's index and the lengths of its files with the manifest; nothing is read but the index's header.
/// Throws Error: io; corrupt, naming the file.
void check_shard(const std::filesystem::path& folder, const ManifestShard& shard, const Index& index);
/// The same of files that are as long as `size_of` says. Throws also what that throws.
void check_shard(
    const std::filesystem::path& folder, const ManifestShard& shard, const Index& index,
    const std::function<std::uint64_t(const std::filesystem::path& file, const IndexedFile& indexed)>& size_of);

}  // namespace penstock
