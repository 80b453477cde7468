// Writes an LMDB shard through liblmdb.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// Makes the folder `path` with data.mdb in it and no lock file. lmdb.hpp lists the errors of add() and finish().
std::unique_ptr<ShardWriter> write_lmdb(const std::filesystem::path& path, const ShardOptions& options);

/// Counts whole pages of 4 KiB for a value that overflows its leaf.
std::uint64_t lmdb_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
