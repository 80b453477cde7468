// Joins the parts that several processes packed into one dataset.
#pragma once

#include <cstdint>
#include <filesystem>

namespace penstock {

/// The size of a joined dataset.
struct JoinedDataset {
  std::uint64_t samples = 0, bytes = 0, skipped = 0;
  std::size_t shards = 0;
};

/// Moves the shards of all parts in "DESTINATION.partial" into one folder, writes one penstock.json and one
/// skipped.jsonl, and publishes the dataset. No shard is read or changed. If the call is killed, a second call resumes:
/// joining.json lists all moves before the first one. A complete dataset that exists already is left unchanged.
///
/// First checks the parts, before anything is changed. All must exist and be finished, have equal options and an equal
/// source, continue each other in keys, shards and samples, and have the files that their manifests list. Otherwise
/// throws Error: invalid_argument, naming the ranks, or corrupt. Also throws Error: invalid_argument, if the
/// destination exists and `overwrite` is not set; io.
JoinedDataset join_parts(const std::filesystem::path& destination, bool overwrite);

}  // namespace penstock
