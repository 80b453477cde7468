// Lists the files of a dataset, with the known properties of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <formats/places/object_store.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

struct StageFile {
  std::filesystem::path source;
  std::string name;           ///< relative to the destination
  std::uint64_t size = 0;     ///< when listed
  std::int64_t modified = 0;  ///< nanoseconds since 1970, when listed; for an object, also a number for its version
  std::optional<std::uint32_t> crc32c = {};         ///< from penstock.json
  std::optional<std::size_t> shard = {};            ///< the shard whose only file it is
  std::shared_ptr<const StoredObject> object = {};  ///< the object in its state when listed; null: a file on a disk
};

struct StageList {
  std::filesystem::path root;  ///< of the source; the basis of names
  bool single = false;         ///< the dataset is one file
  bool whole_folder = false;   ///< every visible file in `root` is staged
  std::vector<StageFile> files;
  std::vector<std::string> folders;  ///< relative to the destination, outer ones first; includes empty ones
  std::string opens;  ///< relative to the destination: the pattern or table that opens the files; else empty
};

/// Lists the files to stage. For packed datasets and folders of files, these are all visible files. For other shards,
/// they are the files that the indexes name, and the index.json of MDS. LMDB's lock files are omitted.
///
/// For a packed dataset in a store, they are the files that its penstock.json and indexes name, and the other files
/// that packing wrote. Throws Error: io; unsupported, if a file is outside the dataset's folder.
StageList list_stage_files(const Dataset& dataset);

/// Reads size and modification time, as in StageFile. Throws Error: io.
void stat_file(const std::filesystem::path& path, std::uint64_t& size, std::int64_t& modified);

/// Returns the shard's path in the source: a file, or a folder (LMDB, MDS, files).
std::filesystem::path shard_path(const Dataset& dataset, std::size_t shard);

}  // namespace penstock
