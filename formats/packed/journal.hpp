// The journal of an unfinished packed dataset: how it is made, and which shards are complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <formats/io/descriptor.hpp>
#include <formats/packed/manifest.hpp>

namespace penstock {

/// A file of lines in the partial folder: the options, then one line per whole shard, each fsynced as it is added, and
/// the options with the first of them. A line that a crash cut short is ignored.
class Journal {
 public:
  static constexpr std::string_view kFileName = "unfinished.jsonl";

  /// Whether `folder` has a journal with anything in it: a power cut may leave an empty one, of a run without a whole
  /// shard.
  static bool is_in(const std::filesystem::path& folder);
  /// Begins a journal in `folder`. Throws Error: io.
  static Journal begin(const std::filesystem::path& folder, const std::string& options);
  /// Goes on with the one in `folder`. Throws Error: io; corrupt (not even the options are whole); invalid_argument,
  /// when another process is writing this dataset.
  static Journal resume(const std::filesystem::path& folder);

  /// Throws Error: invalid_argument, when another process is writing the dataset in `folder`.
  static void require_unused(const std::filesystem::path& folder);

  const std::string& options() const { return options_; }
  const std::vector<ManifestShard>& shards() const { return shards_; }

  /// `skipped` is how many lines the report of samples left out had when the shard's last sample was added.
  /// `source` is a hash of what its samples are made from, 0 where that is not known.
  /// `fsyncs` is false where penstock.json follows at once: without it the shard would only be packed again.
  void add(const ManifestShard& shard, std::uint64_t skipped, std::uint64_t source, bool fsyncs = true);
  std::uint64_t source(std::size_t shard) const { return sources_.at(shard); }
  std::uint64_t skipped(std::size_t shard) const { return skipped_.at(shard); }
  /// Of the last shard; 0 when there is none.
  std::uint64_t skipped() const { return shards_.empty() ? 0 : skipped_[shards_.size() - 1]; }
  /// Forgets all shards from number `count` on.
  void keep(std::size_t count);

 private:
  Journal(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  void append(const std::string& line, bool fsyncs);

  std::filesystem::path path_;
  Descriptor file_;  // locked as long as this process packs
  std::string options_;
  std::vector<ManifestShard> shards_;
  std::vector<std::uint64_t> skipped_;  // beside shards_
  std::vector<std::uint64_t> sources_;  // likewise
  std::vector<std::uint64_t> ends_;     // in the file: of the options' line, then of each shard's
};

/// Whether `folder` is a dataset that `pack` has not finished.
bool is_unfinished(const std::filesystem::path& folder);

}  // namespace penstock
