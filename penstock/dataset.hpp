// An opened dataset: numbered samples whose fields are bytes in files. Opens folders of files and every packed format.
//
//   const penstock::Dataset photos = penstock::open("photos");
//   std::cout << photos.size() << " samples of " << photos.classes().size() << " classes\n";
//   const std::vector<std::byte> file = penstock::read_field(photos, 0, photos.field("jpg").value());
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/open_options.hpp>
#include <penstock/schema.hpp>

namespace penstock {

class RangeSums;  // formats/index/index.hpp
class ShardPins;
struct Block;  // formats/extent.hpp
struct FileIdentity;
struct Piece;  // formats/extent.hpp
struct StoredObject;

/// A file of the dataset, as the read engines open it.
struct DataFile {
  std::filesystem::path path;  ///< absolute, or relative to the working directory
  std::uint64_t size;          ///< bytes when indexed
};

/// An immutable view of the indexes of all shards. Copies share the mapped indexes; any number of threads may read one.
class Dataset {
 public:
  /// One shard: its index, and the folder that the index's relative paths start from.
  struct Shard;
  /// Some samples of the shards in some order, as a view has them. Numbers are those of all samples of all shards.
  struct Choice;

  /// `attributes` is the manifest's JSON, or the attributes of a foreign dataset ("{}" when there are none).
  Dataset(std::filesystem::path path, std::string format, std::vector<Shard> shards, std::vector<std::string> classes,
          bool packed, std::string attributes = "{}");
  /// A view of the same shards. Throws Error: invalid_argument, where it holds no sample.
  Dataset(const Dataset& of, Choice choice);

  const std::filesystem::path& path() const;
  std::string_view format() const;  ///< "folder", "tar", "lmdb", "hdf5"
  bool packed() const;              ///< made by `penstock pack` (has a penstock.json)
  std::uint64_t size() const;       ///< samples
  std::span<const FieldSchema> fields() const;
  std::optional<std::uint32_t> field(std::string_view name) const;
  /// Names of the classes, position = class index; empty when the dataset knows none.
  std::span<const std::string> classes() const;
  std::string_view attributes() const;

  /// True where no folder or file holds just these samples: of a choice, and of what was made of several datasets.
  bool is_view() const;
  /// The samples among those of all shards, in order; those of a view's joined fields may be others.
  Choice choice() const;
  /// Views of one dataset share its shards, and with them the numbers of files and blocks.
  bool shares_shards(const Dataset& other) const { return state_ == other.state_; }
  /// One line: "only labels cat, dog; 1,234 of 10,000 samples"; empty where it is no view.
  std::string about() const;

  std::string_view key(std::uint64_t sample) const;
  std::optional<std::uint64_t> find(std::string_view key) const;
  /// File and block numbers are the dataset's. A piece of more than 1 MiB lies inside its file as that is now.
  bool locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const;
  std::uint64_t length(std::uint64_t sample, std::uint32_t field) const;
  bool complete(std::uint32_t field) const;
  std::optional<std::uint32_t> crc32c(std::uint64_t sample, std::uint32_t field) const;
  std::span<const std::byte> header(std::uint64_t sample, std::uint32_t field) const;
  RangeSums range_sums(std::uint64_t sample, std::uint32_t field) const;  ///< numbers are the dataset's
  std::uint64_t range_count() const;
  Block block(std::uint32_t number) const;
  std::uint32_t block_count() const;

  std::uint32_t file_count() const;
  DataFile file(std::uint32_t number) const;
  /// The object that the file is, in the state in which it was opened; null: it is a file of a disk.
  const std::shared_ptr<const StoredObject>& stored_object(std::uint32_t number) const;
  bool in_store() const;  ///< some file is an object
  /// For who has opened a file: it is `now` the one that was there when the dataset was opened. A file that was touched
  /// or copied since is proved (shard_pins.hpp). Throws Error: invalid_argument, naming the file, when it was replaced
  /// or written to; what proving throws.
  void require_unchanged(std::uint32_t file, const FileIdentity& now) const;
  /// Looks at the files of all shards: those that others may have open, and that are written to in place, do not have
  /// to be opened again. One that another file took the place of is passed over, and so are the files of a folder.
  /// Throws as the above.
  void require_not_written_to() const;
  /// A number that tells a state of the file from others, by its length and times; 0 where they are not known.
  std::uint64_t mark(std::uint32_t file) const;
  std::size_t shard_count() const;
  std::size_t shard_of(std::uint64_t sample) const;
  std::size_t shard_of(std::uint64_t sample, std::uint32_t field) const;  ///< a joined field may lie in another one
  const Shard& shard(std::size_t number) const;
  const std::filesystem::path& path_of_shard(std::size_t shard) const;  ///< of the dataset it was opened with
  /// Of that shard; shard_count() gives the number of all shards' samples. Those of a view do not stand in this order.
  std::uint64_t first_sample(std::size_t shard) const;

  /// Equal for datasets with the same keys in the same order, whatever their packing: binds a saved state to its data.
  /// Of a view the keys are looked at once, when it is first asked for.
  std::uint64_t fingerprint() const;

 private:
  struct State;
  struct View;
  std::uint64_t stored(std::uint64_t sample) const;
  std::uint64_t stored(std::uint64_t sample, std::uint32_t field) const;

  std::shared_ptr<const State> state_;     // what copies share: immutable once made
  std::shared_ptr<const View> view_ = {};  // null: all samples of all shards
};

/// One sample: its number, its key, and the stored bytes of the fields that were asked for.
struct SampleValues {
  std::uint64_t sample;
  std::string_view key;
  /// In the order asked for; nothing where the sample lacks the field.
  std::span<const std::optional<std::span<const std::byte>>> values;
};

/// Opens a packed dataset, a foreign one of any packing listed in open.cpp, or a folder of files.
/// Builds and keeps a sidecar index where there is none (see sidecar.hpp); `progress`, when given, is called with
/// (bytes or files done, total) while that goes on, and where another process is at it. That one is waited for, for
/// $PENSTOCK_INDEX_WAIT seconds (60 unless set); then this process makes an index of its own.
/// Throws Error: io, when the path cannot be read; invalid_argument, when nothing there is a dataset; corrupt,
/// unsupported.
Dataset open(const std::filesystem::path& path, const OpenProgress& progress = {});
/// The same; each option overrides a decision (penstock/open_options.hpp).
Dataset open(const std::filesystem::path& path, const OpenOptions& options, const OpenProgress& progress = {});
/// Opens shards of one packing as one dataset, in this order; `name` is what errors call it. Throws as open() does.
Dataset open_shards(std::span<const std::filesystem::path> files, const std::filesystem::path& name,
                    const OpenProgress& progress = {});
Dataset open_shards(std::span<const std::filesystem::path> files, const std::filesystem::path& name,
                    const OpenOptions& options, const OpenProgress& progress = {});
/// Options that open() needs to open the dataset of a shard again.
const OpenOptions& options_of(const Dataset::Shard& shard);

/// Reads one field's stored bytes, filters undone, by plain pread: for random access, tools and tests.
/// Throws Error: invalid_argument, when the sample lacks the field; io; corrupt, when the file ends inside it.
std::vector<std::byte> read_field(const Dataset& dataset, std::uint64_t sample, std::uint32_t field);

}  // namespace penstock
