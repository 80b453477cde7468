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

/// Copies all that the dataset needs to be opened at `destination`: shards, indexes, penstock.json, and other files
/// that the format needs; for a folder of files, all visible files. Datasets in other formats get their sidecar index
/// too, so that they open immediately. A dataset that is one file becomes the file `destination`, or a file of its name
/// if that is a folder. Every other dataset becomes the folder `destination`.
///
/// A folder grows in "DESTINATION.partial". When it is complete and opens with the source's keys, it is renamed to its
/// final name. Each file in it is written under a temporary name, fsynced, checked and renamed. A second call resumes a
/// copy that was interrupted or whose source changed. It keeps files whose size and CRC-32C equal those in
/// penstock.json, or those in the journal next to them. Large files resume at their last checkpoint. If several
/// processes stage to one destination, one copies and the others wait.
///
/// At the end of the time limit `within`, the missing files become links to the source. The next call copies them. A
/// process that waited for another one with a time limit accepts its links.
///
/// The source may be in a store or on a web server; its objects are read by ranges, each pinned to one version. The
/// destination may be a folder of a store ("s3://bucket/train"); store_target.hpp describes this.
///
/// `tell` is called about ten times a second. If it returns false, the copy ends with Error: resource, "interrupted".
/// Throws Error: invalid_argument (the destination contains something else, the dataset is a view, or `within` with a
/// store); io, with file and offset (a full disk, a source that cannot be read); corrupt, with shard, key, field and
/// offset if they are known (bytes that contradict their checksums, a source that changes meanwhile).
StageResult stage(const Dataset& dataset, const std::filesystem::path& destination, const StageOptions& options = {},
                  const std::function<bool(const StageProgress&)>& tell = {});

}  // namespace penstock
