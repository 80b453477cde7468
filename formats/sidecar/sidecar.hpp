// Keeps the index of a foreign shard beside its data, so that the second open is instant. Users may delete the file.
#pragma once

#include <filesystem>
#include <vector>

#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <formats/index/shard_pins.hpp>
#include <formats/io/file_identity.hpp>
#include <formats/io/own_files.hpp>

namespace penstock {

/// Possible paths of a shard's sidecar, in the order tried: beside the data ("SHARD.penstock-idx", or ".penstock-idx"
/// inside a folder); then in $PENSTOCK_INDEX_DIR, or else in $XDG_CACHE_HOME/penstock or ~/.cache/penstock, under a
/// name derived from the shard's absolute path.
std::vector<std::filesystem::path> sidecar_paths(const std::filesystem::path& shard);

/// The folder to which the paths in a foreign shard's index are relative: the shard itself if it is a folder, else its
/// parent folder.
std::filesystem::path root_of(const std::filesystem::path& shard);

/// A valid index, and the identities of its source files (Format::watched) for which it is valid.
struct ProvenIndex {
  struct File {
    std::filesystem::path path;
    FileIdentity identity;
  };
  Index index;
  std::vector<File> files;
  FolderPins folder = {};  ///< instead of `files` if none is watched

  /// The same identities, for comparison with files that are opened later.
  /// `options` are those of the index.
  std::shared_ptr<const ShardPins> pins(const Format& format, const std::filesystem::path& shard,
                                        const OpenOptions& options) const;
};

/// Returns the shard's index: from a valid sidecar, else built by format.index and stored.
///
/// A sidecar contains the format, the name and size of the shard, Format::stamp, and the identities of its files
/// (device, inode, size, times of modification and of change). If all of these match, nothing else is compared. If an
/// identity differs (a copy, chgrp, touch, a rewritten file), Format::proves compares the shard with the index. A valid
/// index is stored with the new identities; otherwise the shard is indexed again. Identities taken too soon after a
/// change (until_settled) could also belong to another state of the files. They are not stored, so the next open
/// validates again. If several processes need the same sidecar, one validates or builds it, and the others wait for its
/// lock. The sidecar appears by rename. If no path is writable, each open validates, or holds its index in memory.
/// Throws the errors of format.index, format.stamp and format.watched; Error: resource, if the shard is written while
/// it is indexed.
ProvenIndex sidecar_index(const Format& format, const std::filesystem::path& shard, const OpenProgress& progress);

/// The same by format.index_with, at each call: sidecars contain only indexes of the default options.
ProvenIndex index_with_options(const Format& format, const std::filesystem::path& shard, const OpenOptions& options,
                               const OpenProgress& progress);

/// Stores `index` beside the copy at `shard`, unless a valid sidecar is there. `index` must belong to a shard with the
/// same content and file name. Does nothing if the place is not writable. Throws the errors of format.stamp.
void keep_sidecar(const Format& format, const std::filesystem::path& shard, const Index& index);

}  // namespace penstock
