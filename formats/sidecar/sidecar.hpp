// Keeps the index of a foreign shard beside its data, so that the second open is instant. Users may delete it.
#pragma once

#include <filesystem>
#include <vector>

#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/index/shard_pins.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/io/own_files.hpp>

namespace penstock {

/// Where the sidecar of a shard may lie, in the order tried: beside the data ("SHARD.penstock-idx", or
/// ".penstock-idx" inside a folder); in $PENSTOCK_INDEX_DIR, or else in $XDG_CACHE_HOME/penstock or ~/.cache/penstock,
/// under a name made from the shard's absolute path.
std::vector<std::filesystem::path> sidecar_paths(const std::filesystem::path& shard);

/// The folder that the paths in a foreign shard's index start from: the shard itself where it is a folder, else the
/// folder that holds it.
std::filesystem::path root_of(const std::filesystem::path& shard);

/// An index, and what the files it was made from (Format::watched) were when it was the right one for them.
struct ProvenIndex {
  struct File {
    std::filesystem::path path;
    FileIdentity identity;
  };
  Index index;
  std::vector<File> files;
  FolderPins folder = {};  ///< in place of `files` where none is watched

  /// The same, to be compared with what is opened later.
  std::shared_ptr<const ShardPins> pins(const Format& format, const std::filesystem::path& shard) const;
};

/// The shard's index: from its sidecar where one is right, else made by format.index and kept.
///
/// A sidecar names the format, the name and size of the shard, Format::stamp, and the identities of its files (device,
/// inode, size, times of modification and of change), which alone are looked at where all is as it was. Where anything
/// differs (a copy, chgrp, touch, a file written again), Format::proves compares the shard with the index, and what
/// holds is kept with the new identities; what does not is indexed again. Identities that could belong to another state
/// of the files as well, for they were taken too soon after a change (until_settled), are not kept: the next open
/// proves. Processes that need the same sidecar prove or build it once: the others wait for its lock. It appears by
/// rename. Where none can be written, each open proves, or holds its index in memory. Throws Error: what format.index,
/// format.stamp and format.watched throw; resource, when the shard is written to while it is indexed.
ProvenIndex sidecar_index(const Format& format, const std::filesystem::path& shard, const OpenProgress& progress);

/// The same by format.index_with, made at each call: sidecars hold indexes of the usual options.
ProvenIndex index_with_options(const Format& format, const std::filesystem::path& shard, const OpenOptions& options,
                               const OpenProgress& progress);

/// Puts `index`, made of a shard with the same content and the same file name, beside the copy at `shard` unless a good
/// one is there. Does nothing where it cannot be written. Throws Error: what format.stamp throws.
void keep_sidecar(const Format& format, const std::filesystem::path& shard, const Index& index);

}  // namespace penstock
