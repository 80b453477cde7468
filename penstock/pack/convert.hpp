// Packs datasets with a loader whose consumer is a DatasetWriter, by one process or by several that share the samples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/formats/packed/join.hpp>
#include <penstock/pack/recoding.hpp>
#include <penstock/record/time/stats.hpp>

namespace penstock {

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

}  // namespace penstock
