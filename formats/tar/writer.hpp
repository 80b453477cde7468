// Writes one tar shard that any tar program and webdataset can read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <formats/writer.hpp>

namespace penstock {

/// tar_member_name() makes the member names KEY.FIELD, in the order of ShardOptions::fields. Headers are ustar with
/// mode 0644, time 0 and no owner, so that equal samples give equal bytes. A pax header precedes members whose name is
/// too long for ustar or not ASCII, or whose size exceeds 8 GiB. With `align`, a pax comment, which every reader skips,
/// moves the data of each sample's first field to a multiple of `align`. The index from finish() has the original keys,
/// although names in the archive may be percent-encoded. Throws Error: invalid_argument (`align` is not a power of two
/// up to 1 MiB, a field that the options do not list, the key of the previous sample); unsupported (a key or field that
/// cannot be a member name); io, with `path`.
std::unique_ptr<ShardWriter> write_tar(const std::filesystem::path& path, const ShardOptions& options);

/// Counts header and padded data, and a pax header if the name needs one.
std::uint64_t tar_room(std::string_view key, std::string_view field, std::uint64_t length);

}  // namespace penstock
