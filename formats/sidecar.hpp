// The index of a shard that others packed, kept beside the data so that the second open is instant. It may be deleted.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include <penstock/formats/format.hpp>

namespace penstock {

inline constexpr std::string_view kSidecarEnding = ".penstock-idx";

/// Where the sidecar of a shard may lie, in the order tried: beside the data ("SHARD.penstock-idx", or
/// ".penstock-idx" inside a folder); in $PENSTOCK_INDEX_DIR, or else in $XDG_CACHE_HOME/penstock or ~/.cache/penstock,
/// under a name made from the shard's absolute path.
std::vector<std::filesystem::path> sidecar_paths(const std::filesystem::path& shard);

/// The folder that the paths in a foreign shard's index start from: the shard itself where it is a folder, else the
/// folder that holds it.
std::filesystem::path root_of(const std::filesystem::path& shard);

/// The shard's index: mapped from its sidecar where one is whole and matches, else made by format.index and kept.
///
/// A sidecar matches by name of the format, name and size of the shard, and Format::stamp, so it stays good when data
/// and sidecar are copied together. One that is broken or does not match is replaced. Processes that need the same
/// sidecar build it once: the others wait for its lock. It appears by rename. Where none can be written, the index is
/// held in memory. Throws Error: what format.index and format.stamp throw.
Index sidecar_index(const Format& format, const std::filesystem::path& shard, const OpenProgress& progress);

/// Puts `index`, made of a shard with the same content and the same file name, beside the copy at `shard` unless a good
/// one is there. Does nothing where it cannot be written. Throws Error: what format.stamp throws.
void keep_sidecar(const Format& format, const std::filesystem::path& shard, const Index& index);

}  // namespace penstock
