// Declares what a packing offers to be listed in open.cpp: functions that recognise, index and write it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/index/index.hpp>
#include <formats/writer.hpp>
#include <penstock/dataset.hpp>
#include <penstock/open_options.hpp>

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

  /// A cheap stamp of the shard's content: where it differs the shard was rewritten. Where it does not, `proves` has
  /// the last word; of a packing without `watched` files the stamp is of all that the index tells.
  std::uint64_t (*stamp)(const std::filesystem::path& shard);

  /// Begins a new shard at `path` (which does not exist yet). Null where the packing is only read.
  std::unique_ptr<ShardWriter> (*write)(const std::filesystem::path& path, const ShardOptions& options);

  std::size_t longest_name = 0;  ///< bytes of KEY.FIELD that a shard made here can hold; 0: no limit

  /// About how many bytes of a shard a value of `length` bytes takes, with its name. Null: as many as it has.
  std::uint64_t (*room)(std::string_view key, std::string_view field, std::uint64_t length) = nullptr;

  /// Adds what the packing's own readers want beside all shards (MDS: index.json) to a packed dataset before it
  /// appears. `shards` are the names of the files in `folder`. Null: nothing.
  void (*complete)(const std::filesystem::path& folder, std::span<const std::string> shards) = nullptr;

  /// The files that a shard's index is made from. While their identities stay what they were, so does the index. None:
  /// a folder of files, which is walked at each open. Null: the shard itself.
  std::vector<std::filesystem::path> (*watched)(const std::filesystem::path& shard) = nullptr;

  /// True when `index`, made by index() at some time of a shard with the same stamp, is what index() would make of it
  /// now, told from less than index() reads. Throws Error: io, corrupt, unsupported. Null: only index() can tell.
  bool (*proves)(const std::filesystem::path& shard, const Index& index, const OpenProgress& progress) = nullptr;

  /// One more than before whenever index() makes another index of the same shard: earlier sidecars are then made again.
  std::uint8_t reader = 0;

  /// Whether the options change the index, which is then made at each open by `index_with`. Null: none does.
  bool (*depends)(const OpenOptions& options) = nullptr;

  /// As `index`, with options. Null where `depends` is.
  Index (*index_with)(const std::filesystem::path& shard, const std::filesystem::path& root, const OpenOptions& options,
                      const OpenProgress& progress) = nullptr;

  /// True for a folder of files that each hold one value. Its shard is the folder, and each open makes its index.
  bool loose = false;

  /// The name of the file beside the shards that lists them (MDS: "index.json"). Empty: there is none.
  std::string_view list_file = {};

  /// True for the name of a lock file, which copies leave out (LMDB). Null: it has none.
  bool (*is_lock)(std::string_view name) = nullptr;

  /// False: a shard that is not penstock's own is read from a disk only.
  bool in_stores = true;

  /// True: it has columns, and follows OpenOptions::rows.
  bool columns = false;

  /// The meaning of folders in the names of values: `classes` name the samples' classes, `keys` are part of the key.
  enum class Folders : std::uint8_t { none, classes, keys } folders = Folders::none;

  /// Names the contents of a file in messages: "its tar files hold no members".
  std::string_view content = "values";
};

std::span<const Format> formats();                  ///< in the order they are tried
const Format* format_named(std::string_view name);  ///< null when there is none
/// The format of a dataset. A view that joins several formats has one without any trait.
const Format& format_of(const Dataset& dataset);

}  // namespace penstock
