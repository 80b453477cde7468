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

/// The changes that packing makes to stored values.
struct Recoding {
  JpegRecoding jpeg = {};
  CloudRecoding clouds = {};
  PixelRecoding pixels = {};
  bool keeps_all() const { return jpeg.keeps_all() && clouds.keeps_all() && pixels.keeps_all(); }
  /// Whether it may change values of the field.
  bool takes(const FieldSchema& field) const;
  /// The schema of the field after its values are re-encoded; the codec may differ.
  FieldSchema made(FieldSchema field) const;
};

/// How to treat samples that cannot be read.
enum class PackOnError : std::uint8_t {
  raise,  ///< the first one ends packing
  skip,   ///< leaves them out and reports them
};

/// The options of convert().
struct ConvertOptions {
  // ---- Options that most people set ---------------------------------------------------------------------------------

  std::string format = "tar";                           ///< a format that docs/formats.md lists as written
  std::uint64_t shard_size = std::uint64_t{256} << 20;  ///< size in bytes at which a new shard begins
  unsigned workers = 0;                                 ///< threads; 0: usable cores

  // ---- Labels -------------------------------------------------------------------------------------------------------

  std::string labels;  ///< "FILE" or "FILE:COLUMN": labels stored separately, see formats/labels/labels.hpp
  std::vector<std::string> classes;  ///< class names in the order of their indexes; empty: the source's own

  // ---- Bytes --------------------------------------------------------------------------------------------------------

  std::uint64_t align = 1;  ///< samples begin at a multiple of this many bytes
  Recoding recoding = {};   ///< changes images and point clouds; by default they stay unchanged

  // ---- Errors and interruptions -------------------------------------------------------------------------------------

  PackOnError on_error = PackOnError::raise;
  /// file for the lines of skip_report.hpp, written at the end; the dataset contains them in any case
  std::filesystem::path report = {};
  bool overwrite = false, resume = false;  ///< `resume` packs shards again if their values changed in the source since
  bool keep_unfinished = true;             ///< false: a failure leaves nothing, so `resume` has nothing to continue

  /// Returns a number that identifies the state of a source file, from which `resume` detects changes. Empty: the
  /// file's own times. PackSource sets it for files that are unpacked again each time.
  std::function<std::uint64_t(const std::filesystem::path&)> mark_of_file = {};

  std::filesystem::path spool = {};  ///< folder for shards on their way to a store; empty: $TMPDIR, or /tmp

  // ---- Ranks --------------------------------------------------------------------------------------------------------

  /// This process packs part `rank` of `world` parts, and finish_convert() joins them. 0: this process packs all
  /// samples.
  std::uint32_t rank = 0, world = 0;
};

/// The progress of convert().
struct ConvertProgress {
  std::uint64_t samples, total_samples, bytes;  ///< of this process's part
};

/// The result of convert().
struct ConvertResult {
  std::uint64_t samples = 0, bytes = 0, skipped = 0, resumed = 0;
  std::vector<BadSample> bad;  ///< the first 1,000
  /// Number of JPEG files that this run kept unchanged although re-encoding was requested, by reason.
  std::map<std::string, std::uint64_t> kept;
  /// if the keys got the name of their shard as a prefix: one such key, as KeyOrder::example
  std::string renamed_key = {};
};

/// Packs `source` into `destination`, with samples in bytewise order of their keys. If two shards share a key, every
/// key gets the name of its shard as a prefix (key_order.hpp has the rules and errors). The bytes written depend only
/// on the source and the options. In HDF5, `.npy` values of one dtype and shape become rows of a dataset
/// (array_rows.hpp has the rules); in other formats, such rows become `.npy` values again. `progress` is called often.
/// If it returns false, packing stops with Error: resource, "interrupted", and the partial folder remains for `resume`.
///
/// With a `world`, the part of `rank` appears in "DESTINATION.partial". A part consists of whole shards that are
/// adjacent in key order; it may have none. Processes need not communicate: they may run at the same time, on machines
/// that share the file system, or one after the other. `resume` accepts a finished part as it is, unless one of its
/// values changed in the source since; then it packs the part again. Shards are cut by the sizes of the source's values
/// (ShardPlan), so their bytes do not depend on `world`.
ConvertResult convert(const Dataset& source, const std::filesystem::path& destination, const ConvertOptions& options,
                      const std::function<bool(const ConvertProgress&)>& progress = {});

/// The options of finish_convert().
struct FinishOptions {
  bool overwrite = false;             ///< replace an existing dataset
  std::filesystem::path report = {};  ///< as in ConvertOptions
};

/// Joins the parts of all ranks into one dataset. join.hpp has the details and errors. May be called again.
JoinedDataset finish_convert(const std::filesystem::path& destination, const FinishOptions& options = {});

/// The options of a Writer.
struct WriterOptions {
  ConvertOptions pack = {};               ///< options of packing; `resume` is not allowed
  std::vector<std::string> classes = {};  ///< names of the class numbers in the samples' `cls`
  /// folder that holds samples until finish(); empty: the folder that will contain the dataset
  std::filesystem::path spool = {};
};

/// One field of a sample: bytes, or a file that holds them.
struct WriterValue {
  std::string_view field;                 ///< name or extension, see field_from_extension()
  std::span<const std::byte> bytes = {};  ///< copied by add()
  std::filesystem::path file = {};        ///< if set, the value is this file's content, which finish() reads
};

/// Packs samples that a program adds one by one. Samples are collected in an unnamed file, which disappears however the
/// program ends. finish() sorts them by key and packs them like convert(), so the dataset's bytes depend only on the
/// samples and the options. Until then twice the space is in use.
///
/// Memory per sample: the key, 13 to 19 bytes, and 24 bytes per field; for files also their path and 24 bytes. While
/// the tables grow, and during finish(), they briefly use twice as much.
///
/// Any thread may call any function. A writer cannot be used in a forked child; its functions throw there.
class Writer {
 public:
  /// Throws Error: invalid_argument (unknown format, destination exists, resume); io.
  Writer(std::filesystem::path destination, WriterOptions options);
  /// Leaves nothing unless finish() was called.
  ~Writer();

  /// Throws Error: invalid_argument, naming key and field, for a key that was added before, a field given twice, no
  /// field, or a name that the format cannot store; corrupt, unsupported, for a value that its field's codec cannot
  /// read. These errors leave the writer unchanged. After io (a full disk), every later call throws the same error.
  void add(std::string_view key, std::span<const WriterValue> fields);
  std::uint64_t samples() const;
  std::uint64_t bytes() const;  ///< of all values

  /// Packs the dataset. `progress` is used as by convert(). If it returns false, or anything throws, nothing is left.
  ConvertResult finish(const std::function<bool(const ConvertProgress&)>& progress = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
