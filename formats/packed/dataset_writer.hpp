// Writes a packed dataset: a folder of shards, their indexes, and penstock.json. The result is complete or absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/packed/skip_report.hpp>
#include <formats/writer.hpp>
#include <penstock/schema.hpp>

namespace penstock {

struct DatasetWriterOptions {
  std::string format = "tar";
  std::uint64_t shard_size = std::uint64_t{256} << 20;  ///< bytes after which a new shard begins
  std::uint64_t align = 1;
  std::vector<FieldSchema> fields;
  std::vector<std::string> classes;
  std::string made_with = "{}";  ///< JSON of the options that determine the bytes; a resume with others is refused
  /// JSON merged into that of the finished dataset (RFC 7396); a resume may have another
  std::string made_of = "{}";
  bool overwrite = false;  ///< replace an existing dataset (after the new one is complete)
  bool resume = false;     ///< keep the whole shards of an interrupted run
  bool planned = false;    ///< only begin_shard() decides where shards begin, not their size
  /// Returns a number that identifies the current source of the sample with that key. If it changed since an
  /// interrupted run completed a shard with the sample, or left it out in that shard, a resume packs that shard and all
  /// later ones again. Empty: no check.
  std::function<std::uint64_t(std::string_view key)> source_of = {};
  /// Runs work on another thread and returns its future. A full shard is completed there (written to its end, fsynced,
  /// summed) while the next one fills. At most one piece of work is pending, and none after the writer is destroyed.
  /// Empty: each shard is completed before the next one begins.
  std::function<std::future<void>(std::function<void()> work)> in_background = {};
  std::filesystem::path spool = {};  ///< for a store: folder where shards wait to be sent; empty: $TMPDIR, or /tmp
  bool keep_unfinished = true;       ///< false: a failure removes the output instead of keeping it for a resume
  /// Called about ten times a second during the wait for a shard that goes to a store. If it returns false, sending
  /// ends with Error: resource, "interrupted". Empty: not interruptible.
  std::function<bool()> go_on = {};
};

/// Writes the dataset in "DESTINATION.partial". finish() fsyncs every file and folder and renames it to DESTINATION. A
/// crash leaves only the partial folder. `resume` continues it, and open() refuses it with a clear message.
///
/// If DESTINATION is a folder of a store, each shard is completed on a disk and then sent to the store, penstock.json
/// last (see DatasetUpload). This needs twice the shard size on the disk. A replaced dataset is removed before the
/// first shard of the new one is sent.
class DatasetWriter {
 public:
  /// Throws Error: invalid_argument (unknown format, destination exists, resume with other options); io.
  DatasetWriter(std::filesystem::path destination, DatasetWriterOptions options);
  ~DatasetWriter();

  /// Throws Error: invalid_argument, like the constructor, if the format cannot be written, or the destination or the
  /// rest of an interrupted run is in the way. Changes nothing.
  static void require_free(const std::filesystem::path& destination, const std::string& format, bool overwrite,
                           bool resume = false);

  const std::filesystem::path& destination() const;
  /// Samples in whole shards of the interrupted run. The caller continues after last_key().
  std::uint64_t resumed_samples() const;
  /// Key of the last sample, added by this run or the interrupted one. Empty if there is none.
  const std::string& last_key() const;
  void add(std::string_view key, std::span<const FieldValue> fields);
  /// Assigns the following samples to the shard of this number, for `planned` datasets. Numbers increase, with possible
  /// gaps. A resumed run may pass the number of the last whole shard, if it adds nothing to it.
  void begin_shard(std::uint64_t number);
  /// Reports a sample that is left out, in order with the other samples.
  void skip(const SkippedSample& sample);
  std::uint64_t skipped() const;  ///< by this run or the interrupted one
  std::uint64_t bytes() const;    ///< written so far in all shards
  std::string report() const;     ///< the samples left out, as in skip_report.hpp; call after finish()
  /// Writes penstock.json and publishes the dataset.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
