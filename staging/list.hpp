// Lists the files that a dataset is made of, with what is known of each.
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
  std::string name;                          ///< below the destination
  std::uint64_t size = 0;                    ///< when listed
  std::int64_t modified = 0;                 ///< nanoseconds since 1970, when listed; of an object, its version too
  std::optional<std::uint32_t> crc32c = {};  ///< that penstock.json has of it
  std::optional<std::size_t> shard = {};     ///< whose only file it is
  std::shared_ptr<const StoredObject> object = {};  ///< in the state in which it was listed; null: a file of a disk
};

struct StageList {
  std::filesystem::path root;  ///< of the source; names are relative to it
  bool single = false;         ///< the dataset is one file
  bool whole_folder = false;   ///< all that is visible in `root`
  std::vector<StageFile> files;
  std::vector<std::string> folders;  ///< below the destination, outer ones first; also empty ones
  std::string opens;                 ///< below the destination: the pattern that names the files; else empty
};

/// Of a packed dataset, and of a folder of files, everything visible; of shards that others packed, the files that
/// their indexes name, and MDS's index.json. LMDB's lock files are left out.
/// In a store, of a packed dataset, the files that its penstock.json and indexes name, and what packing wrote beside
/// them. Throws Error: io; unsupported, when a file lies outside the dataset's folder.
StageList list_stage_files(const Dataset& dataset);

/// Size and modification time, as in StageFile. Throws Error: io.
void stat_file(const std::filesystem::path& path, std::uint64_t& size, std::int64_t& modified);

/// The shard's own path in the source: a file, or a folder (of LMDB, MDS, files).
std::filesystem::path shard_path(const Dataset& dataset, std::size_t shard);

}  // namespace penstock
