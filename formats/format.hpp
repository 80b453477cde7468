// Declares a format for the list in open.cpp: functions that recognise, index and write its shards.
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
  std::string_view name;       ///< "tar": as spelled in --format, info and penstock.json
  std::string_view extension;  ///< of a shard written here: "shard-000000" + extension is a file, or a folder (LMDB)

  /// Returns the shards at `path`, in order, if `path` is a dataset of this format, written by any program. Empty
  /// otherwise. Examines only names and first bytes. (tar: the file, or a folder whose *.tar are its shards; LMDB: the
  /// folder of data.mdb, or the file itself; HDF5: the file, or a folder of HDF5 files; folder: the folder.)
  std::vector<std::filesystem::path> (*find_shards)(const std::filesystem::path& path);

  /// Indexes one shard. The paths in the index are relative to `root`. Throws Error: io, corrupt, unsupported.
  Index (*index)(const std::filesystem::path& shard, const std::filesystem::path& root, const OpenProgress& progress);

  /// Returns a cheap stamp of the shard's content. A different stamp means that the shard was rewritten. If the stamp
  /// is the same, `proves` decides. For a format without `watched` files, the stamp covers all that the index contains.
  std::uint64_t (*stamp)(const std::filesystem::path& shard);

  /// Begins a new shard at `path`, which must not exist. Null if the format is read-only.
  std::unique_ptr<ShardWriter> (*write)(const std::filesystem::path& path, const ShardOptions& options);

  std::size_t longest_name = 0;  ///< longest KEY.FIELD, in bytes, that a written shard can hold; 0: no limit

  /// Estimates how many bytes of a shard a value of `length` bytes needs, with its name. Null: `length`.
  std::uint64_t (*room)(std::string_view key, std::string_view field, std::uint64_t length) = nullptr;

  /// Adds a file that the format's own readers need beside all shards (MDS: index.json) to a packed dataset before it
  /// is published. `shards` are the names of the files in `folder`. Null: nothing to add.
  void (*complete)(const std::filesystem::path& folder, std::span<const std::string> shards) = nullptr;

  /// Returns the files that determine a shard's index. The index stays valid as long as their identities do not change.
  /// An empty result: a folder of files, which is walked at each open. Null: the shard itself.
  std::vector<std::filesystem::path> (*watched)(const std::filesystem::path& shard) = nullptr;

  /// Returns true if `index`, which index() made earlier from a shard with the same stamp, is what index() would make
  /// now. Reads less than index() does. Throws Error: io, corrupt, unsupported. Null: only index() can decide.
  bool (*proves)(const std::filesystem::path& shard, const Index& index, const OpenProgress& progress) = nullptr;

  /// Incremented whenever index() returns a different index for the same shard. Sidecars of earlier versions are then
  /// rebuilt.
  std::uint8_t reader = 0;

  /// Returns whether the options change the index. In that case each open makes the index by `index_with`. Null: no
  /// option does.
  bool (*depends)(const OpenOptions& options) = nullptr;

  /// Like `index`, with options. Null if `depends` is null.
  Index (*index_with)(const std::filesystem::path& shard, const std::filesystem::path& root, const OpenOptions& options,
                      const OpenProgress& progress) = nullptr;

  /// True for a folder of files that each hold one value. The folder is the shard, and each open makes its index.
  bool loose = false;

  /// The name of the file beside the shards that lists them (MDS: "index.json"). Empty if there is none.
  std::string_view list_file = {};

  /// Returns true for the name of a lock file, which copies omit (LMDB). Null if the format has none.
  bool (*is_lock)(std::string_view name) = nullptr;

  /// False: shards that penstock did not write are read only from a disk.
  bool in_stores = true;

  /// True: it has columns, and respects OpenOptions::rows.
  bool columns = false;

  /// The largest number of dimensions of a value that a written shard stores as a row of an array, which other programs
  /// then read as an array. `pack` converts `.npy` values of one dtype and shape to such rows. 0: it has no arrays.
  std::size_t array_dimensions = 0;

  /// Meaning of folders in the names of values: `classes` name the samples' classes, `keys` are part of the key.
  enum class Folders : std::uint8_t { none, classes, keys } folders = Folders::none;

  /// Noun for the contents of a file in messages: "its tar files hold no members".
  std::string_view content = "values";
};

std::span<const Format> formats();                  ///< in the order in which open() tries them
const Format* format_named(std::string_view name);  ///< null if there is none
/// The format of a dataset. For a view that joins several formats, a format without traits.
const Format& format_of(const Dataset& dataset);

}  // namespace penstock
