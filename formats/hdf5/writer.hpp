// Writes an HDF5 shard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// Makes the file `path` at finish(); until then each field's bytes gather in memory or, beyond 256 KiB, in an unnamed
/// temporary file in the same folder, because a contiguous dataset's size must be known when it is made. So a shard
/// takes twice its size on disk while it is finished. What add() and finish() throw stands in hdf5.hpp.
std::unique_ptr<ShardWriter> write_hdf5(const std::filesystem::path& path, const ShardOptions& options);

/// The value, its end, and its share of the key.
std::uint64_t hdf5_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
