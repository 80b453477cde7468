// Writes a packed dataset: a folder of shards, their indexes, and penstock.json; complete or absent.
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
  std::string made_with = "{}";  ///< JSON of the options that decide the bytes; a resume with others is refused
  std::string made_of = "{}";  ///< JSON merged into those of the finished dataset (RFC 7396); a resume may have another
  bool overwrite = false;      ///< replace a dataset already there (once the new one is complete)
  bool resume = false;         ///< keep the whole shards of an interrupted run
  bool planned = false;        ///< shards begin where begin_shard() says, whatever their size
  /// A number that tells what the source's sample of that key is made from now; where it changed since an interrupted
  /// run completed a shard with it, or left it out among that shard's, a resume packs that shard and all behind it
  /// again. Empty: nobody asks.
  std::function<std::uint64_t(std::string_view key)> source_of = {};
  /// Does work on another thread and returns its future: a full shard is completed (written to its end, fsynced, summed
  /// up) while the next one fills. One piece of work at a time; none is left when the writer is gone. Empty: there is
  /// no such thread, and each shard is completed before the next one begins.
  std::function<std::future<void>(std::function<void()> work)> in_background = {};
  std::filesystem::path spool = {};  ///< of a store: where shards wait to be sent; empty: $TMPDIR, or /tmp
  bool keep_unfinished = true;       ///< false: what a failure leaves is removed, in place of being kept for a resume
  /// Called about ten times a second while a shard is awaited that goes to a store; when it returns false, sending ends
  /// with Error: resource, "interrupted". Empty: nobody is asked.
  std::function<bool()> go_on = {};
};

/// The dataset grows in "DESTINATION.partial" and is renamed to DESTINATION by finish(), after fsync of every file and
/// folder. A crash leaves only the partial folder, which `resume` continues and which open() refuses with a clear
/// message.
///
/// Where DESTINATION is a folder of a store, each shard is completed on a disk and goes from there to its place in the
/// store, penstock.json last, as DatasetUpload tells: twice the shard size is in use on the disk. What is replaced goes
/// before the new dataset's first shard comes.
class DatasetWriter {
 public:
  /// Throws Error: invalid_argument (unknown format, destination exists, resume with other options); io.
  DatasetWriter(std::filesystem::path destination, DatasetWriterOptions options);
  ~DatasetWriter();

  /// Throws Error: invalid_argument, as the constructor would, where the format cannot be written or the destination,
  /// or what an interrupted run left of it, is in the way. Changes nothing.
  static void require_free(const std::filesystem::path& destination, const std::string& format, bool overwrite,
                           bool resume = false);

  const std::filesystem::path& destination() const;
  /// Samples already in whole shards of the interrupted run: the caller goes on after last_key().
  std::uint64_t resumed_samples() const;
  /// Key of the sample added last, by this run or the interrupted one; empty before any.
  const std::string& last_key() const;
  void add(std::string_view key, std::span<const FieldValue> fields);
  /// What is added next belongs to the shard of this number, for `planned` datasets: numbers grow, and may leave gaps.
  /// A resumed run may say the number of the last whole shard, if it adds nothing to it.
  void begin_shard(std::uint64_t number);
  /// Reports a sample that is left out, in its place among the others.
  void skip(const SkippedSample& sample);
  std::uint64_t skipped() const;  ///< by this run or the interrupted one
  std::uint64_t bytes() const;    ///< written so far in all shards
  std::string report() const;     ///< of the samples left out, as skip_report.hpp has it; once finished
  /// Writes penstock.json and makes the dataset appear.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
