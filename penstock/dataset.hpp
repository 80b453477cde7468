// An opened dataset: numbered samples whose fields are bytes in files. Opens folders of files and every packed format.
//
//   const penstock::Dataset photos = penstock::open("photos");
//   std::cout << photos.size() << " samples of " << photos.classes().size() << " classes\n";
//   const std::vector<std::byte> file = penstock::read_field(photos, 0, photos.field("jpg").value());
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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

/// An immutable view of the indexes of all shards. Copies share the mapped indexes. Any number of threads may read one
/// dataset. Samples and fields have numbers from 0.
class Dataset {
 public:
  /// One shard: its index, and the folder that the relative paths in the index start from.
  struct Shard;
  /// The samples of a view, in its order. Numbers refer to all samples of all shards.
  struct Choice;

  /// `attributes` is the JSON of the manifest, or the attributes of a dataset that penstock did not pack ("{}" if there
  /// are none).
  Dataset(std::filesystem::path path, std::string format, std::vector<Shard> shards, std::vector<std::string> classes,
          bool packed, std::string attributes = "{}");
  /// Makes a view of the same shards. Throws Error: invalid_argument, if it contains no sample.
  Dataset(const Dataset& of, Choice choice);

  const std::filesystem::path& path() const;  ///< of the opened file or folder
  std::string_view format() const;            ///< "folder", "tar", "lmdb", "hdf5", ...
  bool packed() const;                        ///< made by `penstock pack` (has a penstock.json)
  std::uint64_t size() const;                 ///< number of samples
  std::span<const FieldSchema> fields() const;
  /// Number of the field with that name: its position in fields(). Nothing if there is none.
  std::optional<std::uint32_t> field(std::string_view name) const;
  /// Names of the classes; the position is the class index. Empty if the dataset has no class names.
  std::span<const std::string> classes() const;
  std::string_view attributes() const;  ///< JSON object: of penstock.json, or of a dataset that others packed

  /// True if no folder or file holds exactly these samples: for a selection, and for a combination of several datasets.
  bool is_view() const;
  /// The view's samples as numbers among the samples of all shards, in order. Fields that were joined may come from
  /// other samples.
  Choice choice() const;
  /// Whether both share their shards. Views of one dataset do, so their file and block numbers are the same.
  bool shares_shards(const Dataset& other) const { return state_ == other.state_; }
  /// One line: "only labels cat, dog; 1,234 of 10,000 samples". Empty if the dataset is not a view.
  std::string about() const;

  std::string_view key(std::uint64_t sample) const;  ///< valid while a copy of the dataset exists
  /// Number of the first sample with that key. Nothing if there is none.
  std::optional<std::uint64_t> find(std::string_view key) const;
  /// Finds the pieces of a field's bytes. File and block numbers are the dataset's. For pieces of more than 1 MiB it
  /// also checks that they end inside the file's current size.
  bool locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const;
  std::uint64_t length(std::uint64_t sample, std::uint32_t field) const;  ///< bytes of the value; 0 if it is missing
  bool complete(std::uint32_t field) const;                               ///< whether every sample has the field
  /// Recorded checksum of the value. Nothing if the index has none.
  std::optional<std::uint32_t> crc32c(std::uint64_t sample, std::uint32_t field) const;
  /// Bytes that Codec::header() recorded; may be empty.
  std::span<const std::byte> header(std::uint64_t sample, std::uint32_t field) const;
  RangeSums range_sums(std::uint64_t sample, std::uint32_t field) const;  ///< numbers are the dataset's
  std::uint64_t range_count() const;
  Block block(std::uint32_t number) const;
  std::uint32_t block_count() const;

  std::uint32_t file_count() const;
  DataFile file(std::uint32_t number) const;
  /// The stored object behind the file, in the state in which it was opened; null for a file on a disk.
  const std::shared_ptr<const StoredObject>& stored_object(std::uint32_t number) const;
  bool in_store() const;  ///< whether some file is a stored object
  /// Checks that an opened file (`now` is its identity) is still the file that was indexed. Call it after opening a
  /// file. If the file was touched or copied since, its content is validated (shard_pins.hpp). Throws Error:
  /// invalid_argument, naming the file, if it was replaced or modified, and the errors of the validation.
  void require_unchanged(std::uint32_t file, const FileIdentity& now) const;
  /// Checks the files of all shards for changes in place, so that a program that has them open need not open them
  /// again. Skips a file that another one has replaced, the files of folders, stored objects, and shards for which
  /// `checks` returns false. Throws like require_unchanged().
  void require_not_written_to(const std::function<bool(std::size_t shard)>& checks) const;
  /// A number that identifies the state of the file, from its length and times; 0 if they are unknown.
  std::uint64_t mark(std::uint32_t file) const;
  std::size_t shard_count() const;
  std::size_t shard_of(std::uint64_t sample) const;
  std::size_t shard_of(std::uint64_t sample, std::uint32_t field) const;  ///< a joined field may be in another shard
  const Shard& shard(std::size_t number) const;
  /// path of the dataset that the shard was opened with
  const std::filesystem::path& path_of_shard(std::size_t shard) const;
  /// Number of the shard's first sample; for shard_count(), the number of samples of all shards. A view has another
  /// order.
  std::uint64_t first_sample(std::size_t shard) const;

  /// Equal for datasets with the same keys in the same order, in any format. It ties a saved state to its data. For a
  /// view it is computed from the keys at the first call.
  std::uint64_t fingerprint() const;

 private:
  struct State;
  struct View;
  std::uint64_t stored(std::uint64_t sample) const;
  std::uint64_t stored(std::uint64_t sample, std::uint32_t field) const;

  std::shared_ptr<const State> state_;     // shared by copies, immutable once made
  std::shared_ptr<const View> view_ = {};  // null: all samples of all shards
};

/// One sample: its number, its key, and the stored bytes of the requested fields.
struct SampleValues {
  std::uint64_t sample;  ///< its number
  std::string_view key;
  /// In the requested order; nothing if the sample lacks the field.
  std::span<const std::optional<std::span<const std::byte>>> values;
};

/// Opens a packed dataset, an existing one of any format in docs/formats.md, or a folder of files.
///
/// If there is no index, open() builds one and stores it as a sidecar file (sidecar.hpp). Meanwhile open() calls
/// `progress`, if given, with (bytes or files done, total). If another process builds the index, open() calls
/// `progress` too, and waits for $PENSTOCK_INDEX_WAIT seconds (60 by default). Then open() builds the index itself.
///
/// Throws Error: io, if the path cannot be read; invalid_argument, if it contains no dataset; corrupt, unsupported.
Dataset open(const std::filesystem::path& path, const OpenProgress& progress = {});
/// The same, with options that override decisions of open() (penstock/open_options.hpp).
Dataset open(const std::filesystem::path& path, const OpenOptions& options, const OpenProgress& progress = {});
/// Opens shards of one format as one dataset, in this order. Errors call it `name`. Throws like open().
Dataset open_shards(std::span<const std::filesystem::path> files, const std::filesystem::path& name,
                    const OpenProgress& progress = {});
Dataset open_shards(std::span<const std::filesystem::path> files, const std::filesystem::path& name,
                    const OpenOptions& options, const OpenProgress& progress = {});
/// The options that open() needs to open the dataset of a shard again.
const OpenOptions& options_of(const Dataset::Shard& shard);

/// Reads one field's stored bytes, with filters removed, by plain pread: for random access, tools and tests. Throws
/// Error: invalid_argument, if the sample lacks the field; io; corrupt, if the file ends inside the field.
std::vector<std::byte> read_field(const Dataset& dataset, std::uint64_t sample, std::uint32_t field);

}  // namespace penstock
