// What a packing must offer to be listed in open.cpp: how to know it, how to index it, how to write it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/formats/index.hpp>
#include <penstock/formats/writer.hpp>

namespace penstock {

struct Format {
  std::string_view name;       ///< "tar": as --format, info and penstock.json spell it
  std::string_view extension;  ///< of a shard made here: "shard-000000" + extension is a file, or a folder (LMDB)

  /// The shards at `path` if it is a dataset of this kind made by anyone, in order; empty when it is not. Looks at
  /// names and first bytes only. (tar: the file, or a folder whose *.tar are its shards; LMDB: the folder of data.mdb,
  /// or the file itself; HDF5: the file, or a folder of them; folder: the folder.)
  std::vector<std::filesystem::path> (*find_shards)(const std::filesystem::path& path);

  /// Indexes one shard. The index's file paths are relative to `root`. Throws Error: io, corrupt, unsupported.
  Index (*index)(const std::filesystem::path& shard, const std::filesystem::path& root, const OpenProgress& progress);

  /// A cheap stamp of the shard's content that changes when it is rewritten; together with size it validates a sidecar.
  std::uint64_t (*stamp)(const std::filesystem::path& shard);

  /// Begins a new shard at `path` (which does not exist yet). Null where the packing is only read.
  std::unique_ptr<ShardWriter> (*write)(const std::filesystem::path& path, const ShardOptions& options);

  std::size_t longest_name = 0;  ///< bytes of KEY.FIELD that a shard made here can hold; 0: no limit

  /// About how many bytes of a shard a value of `length` bytes takes, with its name. Null: as many as it has.
  std::uint64_t (*room)(std::string_view key, std::string_view field, std::uint64_t length) = nullptr;

  /// Adds what the packing's own readers want beside all shards (MDS: index.json) to a packed dataset before it
  /// appears. `shards` are the names of the files in `folder`. Null: nothing.
  void (*complete)(const std::filesystem::path& folder, std::span<const std::string> shards) = nullptr;
};

std::span<const Format> formats();                  ///< in the order they are tried
const Format* format_named(std::string_view name);  ///< null when there is none

}  // namespace penstock
