// Writes one tar shard that any tar program and webdataset read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// Members are named KEY.FIELD as tar_member_name() says, and stand in the order of ShardOptions::fields: ustar headers
/// with mode 0644, time 0 and no owner, so that equal samples give equal bytes; a pax header before those whose name is
/// longer than ustar can hold or not ASCII, or whose size passes 8 GiB. With `align`, a pax comment, which every reader
/// skips, moves the data of each sample's first field to a multiple of it.
/// The index that finish() returns holds the keys as given, although names in the archive may be percent-encoded.
/// Throws Error: invalid_argument (`align` is not a power of two up to 1 MiB, a field the options do not list, the key
/// of the sample before); unsupported (a key or field that no member can be named by); io, naming `path`.
std::unique_ptr<ShardWriter> write_tar(const std::filesystem::path& path, const ShardOptions& options);

/// Header and padded data; a pax header where the name needs one.
std::uint64_t tar_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
