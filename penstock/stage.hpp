// Copies a dataset to other storage, such as the local disk of a node, before training.
//
//   const auto copy = penstock::stage(penstock::open("/shared/photos"), "/scratch/photos");
//   penstock::Loader loader(penstock::open(copy.opens));
#pragma once

#include <filesystem>
#include <functional>

#include <penstock/dataset.hpp>
#include <penstock/stage_options.hpp>

namespace penstock {

/// Copies all that the dataset needs to be opened at `destination`: shards, indexes, penstock.json, and what the
/// packing wants beside them; of a folder of files all that is visible. Foreign data come with their sidecar, so that
/// they open at once. A dataset that is one file becomes the file `destination`, or a file of its name where that is a
/// folder; every other one the folder `destination`.
///
/// A folder grows in "DESTINATION.partial" and appears by rename when it is complete and opens with the source's keys.
/// Each file in it is written under a temporary name, fsynced, checked and renamed. A copy that was interrupted, or
/// whose source changed, is gone on with: files whose size and CRC-32C are those of penstock.json, or those that the
/// journal beside them has, are kept; of large ones, what was written up to the last checkpoint. Of several processes
/// that stage to one destination, one copies and the others wait.
///
/// The source may lie in a store or on a web server: its objects are read by ranges, each in one state. The destination
/// may be a folder of a store ("s3://bucket/train"), as store_target.hpp tells.
///
/// `tell` is called about ten times a second; when it returns false the copy ends with Error: resource, "interrupted".
/// Throws Error: invalid_argument (the destination is something else, the dataset a view); io, with file and offset (a
/// full disk, a source that cannot be read); corrupt, with shard, key, field and offset where they are known (bytes
/// that contradict their checksums, a source that changes meanwhile).
StageResult stage(const Dataset& dataset, const std::filesystem::path& destination, const StageOptions& options = {},
                  const std::function<bool(const StageProgress&)>& tell = {});

}  // namespace penstock
