// The journal of an unfinished packed dataset: its options and its complete shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <formats/io/descriptor.hpp>
#include <formats/packed/manifest.hpp>

namespace penstock {

/// A file of lines in the partial folder: the options, then one line per whole shard. Each line is fsynced when added,
/// the options together with the first one. A line truncated by a crash is ignored.
class Journal {
 public:
  static constexpr std::string_view kFileName = "unfinished.jsonl";

  /// Returns whether `folder` has a journal with content. A power failure may leave an empty one, from a run without a
  /// whole shard.
  static bool is_in(const std::filesystem::path& folder);
  /// Begins a journal in `folder`. Throws Error: io.
  static Journal begin(const std::filesystem::path& folder, const std::string& options);
  /// Continues the journal in `folder`. Throws Error: io; corrupt (even the options are incomplete); invalid_argument,
  /// if another process is writing this dataset.
  static Journal resume(const std::filesystem::path& folder);

  /// Throws Error: invalid_argument, if another process is writing the dataset in `folder`.
  static void require_unused(const std::filesystem::path& folder);

  const std::string& options() const { return options_; }
  const std::vector<ManifestShard>& shards() const { return shards_; }

  /// `skipped` is the number of lines of the report of samples left out when the shard's last sample was added.
  /// `source` is a hash of the source of its samples, 0 if unknown. `fsyncs` is false if penstock.json follows at once:
  /// if it does not, only the shard must be packed again.
  void add(const ManifestShard& shard, std::uint64_t skipped, std::uint64_t source, bool fsyncs = true);
  std::uint64_t source(std::size_t shard) const { return sources_.at(shard); }
  std::uint64_t skipped(std::size_t shard) const { return skipped_.at(shard); }
  /// The number for the last shard; 0 if there is none.
  std::uint64_t skipped() const { return shards_.empty() ? 0 : skipped_[shards_.size() - 1]; }
  /// Drops all shards from number `count` on.
  void keep(std::size_t count);

 private:
  Journal(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  void append(const std::string& line, bool fsyncs);

  std::filesystem::path path_;
  Descriptor file_;  // locked while this process packs
  std::string options_;
  std::vector<ManifestShard> shards_;
  std::vector<std::uint64_t> skipped_;  // parallel to shards_
  std::vector<std::uint64_t> sources_;  // likewise
  std::vector<std::uint64_t> ends_;     // in the file: the end of the options' line, then of each shard's line
};

/// Returns whether `folder` is an unfinished dataset of `pack`.
bool is_unfinished(const std::filesystem::path& folder);

}  // namespace penstock
