// Packs samples into shards: convert() packs a dataset, and Writer packs samples that are not files.
//
//   penstock::convert(penstock::open("photos"), "shards", {.format = "tar"});
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/dataset.hpp>
#include <penstock/join.hpp>
#include <penstock/recoding.hpp>
#include <penstock/schema.hpp>
#include <penstock/stats.hpp>

namespace penstock {

struct Recoding {
  JpegRecoding jpeg = {};
  CloudRecoding clouds = {};
  PixelRecoding pixels = {};
  bool keeps_all() const { return jpeg.keeps_all() && clouds.keeps_all() && pixels.keeps_all(); }
  /// Whether it may change values of that field.
  bool takes(const FieldSchema& field) const;
  /// The field as it is once its values are made over: the codec may be another.
  FieldSchema made(FieldSchema field) const;
};

/// What becomes of samples that cannot be read.
enum class PackOnError : std::uint8_t {
  raise,  ///< the first one ends packing
  skip,   ///< they are left out and reported
};

struct ConvertOptions {
  // ---- What people set first ----------------------------------------------------------------------------------------

  std::string format = "tar";
  std::uint64_t shard_size = std::uint64_t{256} << 20;  ///< bytes after which a new shard begins
  unsigned workers = 0;                                 ///< threads; 0: usable cores

  // ---- Labels -------------------------------------------------------------------------------------------------------

  std::string labels;                ///< "FILE" or "FILE:COLUMN": labels kept apart, see formats/labels/labels.hpp
  std::vector<std::string> classes;  ///< names that class indexes must follow; empty: the source's own

  // ---- Bytes --------------------------------------------------------------------------------------------------------

  std::uint64_t align = 1;  ///< bytes: samples begin at a multiple of this
  Recoding recoding = {};   ///< what becomes of images and point clouds; by default they stay

  // ---- Errors and interruptions -------------------------------------------------------------------------------------

  PackOnError on_error = PackOnError::raise;
  std::filesystem::path report = {};       ///< gets the lines of skip_report.hpp when done; the dataset has them anyway
  bool overwrite = false, resume = false;  ///< resume packs shards again whose values changed in the source meanwhile
  bool keep_unfinished = true;             ///< false: a failure leaves nothing, also nothing for `resume`

  /// A number for the state of a file of the source, by which `resume` knows whether it changed; empty: its own times.
  /// PackSource tells it of files that are unpacked anew each time.
  std::function<std::uint64_t(const std::filesystem::path&)> mark_of_file = {};

  std::filesystem::path spool = {};  ///< where shards wait that go to a store; empty: $TMPDIR, or /tmp

  // ---- Ranks --------------------------------------------------------------------------------------------------------

  /// This process packs one of `world` parts, and finish_convert() joins them; 0: this process packs all samples.
  std::uint32_t rank = 0, world = 0;
};

struct ConvertProgress {
  std::uint64_t samples, total_samples, bytes;  ///< of this process's part
};

struct ConvertResult {
  std::uint64_t samples = 0, bytes = 0, skipped = 0, resumed = 0;
  std::vector<BadSample> bad;  ///< the first 1,000
  /// How many JPEG files of this run stayed what they are though they were to be recoded, by the reason.
  std::map<std::string, std::uint64_t> kept;
  std::string renamed_key = {};  ///< if keys got the names of shards in front: one of them, as KeyOrder::example
};

/// Packs `source` into `destination`, samples in bytewise order of their keys. If two shards share a key, all keys get
/// the name of their shard in front (key_order.hpp says how, and what it throws). The bytes written depend on the
/// source and the options alone. `progress` is called often; when it returns false packing stops with Error: resource,
/// "interrupted", and the partial folder stays for `resume`.
///
/// With a `world` the part of `rank` appears in "DESTINATION.partial": the samples of some whole shards, next to each
/// other in key order. Processes need no word from each other; they may run at the same time, on machines that share
/// the file system, or one after the other. `resume` also takes a finished part as it is, unless one of its values
/// changed in the source since: that part is packed again. Shards are then cut by the sizes of the source's values
/// (ShardPlan), so their bytes do not depend on `world` either; a part may have none.
ConvertResult convert(const Dataset& source, const std::filesystem::path& destination, const ConvertOptions& options,
                      const std::function<bool(const ConvertProgress&)>& progress = {});

struct FinishOptions {
  bool overwrite = false;             ///< replace a dataset that is there
  std::filesystem::path report = {};  ///< as in ConvertOptions
};

/// Makes one dataset of the parts of all ranks; join.hpp says how, and what it throws. May be repeated.
JoinedDataset finish_convert(const std::filesystem::path& destination, const FinishOptions& options = {});

struct WriterOptions {
  ConvertOptions pack = {};               ///< how the dataset is packed; there is nothing to `resume`
  std::vector<std::string> classes = {};  ///< names of the class numbers in the samples' `cls`
  std::filesystem::path spool = {};       ///< folder where samples wait for finish(); empty: beside the dataset
};

/// One field of a sample: bytes, or a file that holds them.
struct WriterValue {
  std::string_view field;                 ///< name or extension, see field_from_extension()
  std::span<const std::byte> bytes = {};  ///< copied by add()
  std::filesystem::path file = {};        ///< not empty: the value is this file's content, read by finish()
};

/// Samples gather in an unnamed file, of which nothing stays however the program ends; finish() sorts them by key and
/// packs them as convert() does, so that the bytes of the dataset depend on the samples and the options alone. Until
/// then twice the space is in use. Memory: the key, 24 bytes per field and 13 to 19 bytes per sample, and as much again
/// for a moment while that grows or is finished; for files also their paths and 24 bytes each.
///
/// Any thread may call any function. A writer is of no use in a forked child, and says so.
class Writer {
 public:
  /// Throws Error: invalid_argument (unknown format, destination exists, resume); io.
  Writer(std::filesystem::path destination, WriterOptions options);
  /// Without finish() nothing is left.
  ~Writer();

  /// Throws Error: invalid_argument, naming key and field: a key that was added before, a field given twice, no field,
  /// a name the format cannot hold; corrupt, unsupported: a value that its field's codec will not read. These leave
  /// the writer as it was. After io (a full disk) every later call throws the same.
  void add(std::string_view key, std::span<const WriterValue> fields);
  std::uint64_t samples() const;
  std::uint64_t bytes() const;  ///< of all values

  /// Packs the dataset. `progress` is as for convert(); when it returns false, or anything throws, nothing is left.
  ConvertResult finish(const std::function<bool(const ConvertProgress&)>& progress = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
