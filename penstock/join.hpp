// Joins the parts that several processes packed into one dataset.
#pragma once

#include <cstdint>
#include <filesystem>

namespace penstock {

struct JoinedDataset {
  std::uint64_t samples = 0, bytes = 0, skipped = 0;
  std::size_t shards = 0;
};

/// Moves the shards of all parts in "DESTINATION.partial" beside each other, writes the one penstock.json and the one
/// skipped.jsonl, and makes the dataset appear; no shard is read or changed. Killed at any moment, a second call goes
/// on: what is to be moved stands in joining.json before the first move. A dataset that is there already and complete
/// is left as it is.
/// Before anything is touched, the parts must be all there and finished, made with equal options from an equal source,
/// follow each other in keys, shards and samples, and have the files that their manifests name; otherwise throws
/// Error: invalid_argument, naming the ranks, or corrupt. Also throws Error: invalid_argument, when the destination
/// exists and `overwrite` is not set; io.
JoinedDataset join_parts(const std::filesystem::path& destination, bool overwrite);

}  // namespace penstock
