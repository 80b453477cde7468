// Computes the entry of a shard in penstock.json from the shard's files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <formats/index/index.hpp>
#include <formats/packed/manifest.hpp>

namespace penstock {

/// Returns the manifest entry of the shard whose files are in `folder`. Reads all of them. Throws Error: io; corrupt,
/// if a file's length is not the indexed one.
ManifestShard describe_shard(const std::filesystem::path& folder, std::string name, const Index& index);

/// The same for a shard that was just written, without reading its long values again. The index has the checksums of
/// their intended bytes. If the files contain other bytes, describe_shard() returns another result.
ManifestShard describe_written_shard(const std::filesystem::path& folder, std::string name, const Index& index);

/// The same for a shard of one file whose checksum was computed during writing.
ManifestShard describe_stored_shard(std::string name, const Index& index, std::uint32_t crc32c);

/// Compares the shard's index and the lengths of its files with the manifest. Reads only the header of the index.
/// Throws Error: io; corrupt, with the file.
void check_shard(const std::filesystem::path& folder, const ManifestShard& shard, const Index& index);
/// The same with file lengths from `size_of`. Also throws the errors of `size_of`.
void check_shard(
    const std::filesystem::path& folder, const ManifestShard& shard, const Index& index,
    const std::function<std::uint64_t(const std::filesystem::path& file, const IndexedFile& indexed)>& size_of);

}  // namespace penstock
