// Writes an HDF5 shard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// finish() makes the file `path`. Until then each field's bytes are collected in memory or, beyond 256 KiB, in an
/// unnamed temporary file in the same folder. The reason is that the size of a contiguous dataset must be known when it
/// is created. Therefore a shard needs twice its size on disk while it is finished. hdf5.hpp lists the errors of add()
/// and finish().
std::unique_ptr<ShardWriter> write_hdf5(const std::filesystem::path& path, const ShardOptions& options);

/// Estimates the bytes of the value, its end offset, and its share of the key.
std::uint64_t hdf5_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
