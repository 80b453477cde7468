// Brings a dataset to a store while it is packed: whole shards first, penstock.json last.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <formats/index/index.hpp>
#include <formats/packed/manifest.hpp>

namespace penstock {

/// Shards that are written from their beginning to their end go to the store as they are written. Others grow in a
/// folder of this machine's, from which each whole one goes to the store and is removed. Indexes stay in the folder
/// (and heads of shards, where the packing's own readers want something made of all heads). Beside the shards lies
/// penstock.partial.jsonl, the journal of the unfinished run, by which another run goes on, also on another machine.
/// Before penstock.json is there nobody opens the dataset; it goes first when the dataset is replaced.
///
/// Used by one thread at a time, but for abort(). What it throws (Error: io, of the store's; invalid_argument) names
/// no secret.
class DatasetUpload {
 public:
  static constexpr std::string_view kJournal = "penstock.partial.jsonl";

  /// `address` has no slash behind it. Nothing is asked of the store.
  DatasetUpload(std::string address, std::filesystem::path folder);

  /// Throws Error: invalid_argument, where something is in the way at the address, as in a folder on a disk: a dataset,
  /// an unfinished one, or objects that are none of penstock's.
  void require_free(bool overwrite, bool resume);

  /// Brings the journal of an interrupted run, and its report of samples left out, into the folder, after
  /// require_free(). False where there is none.
  bool fetch_journal();
  /// Brings the index of a shard into the folder and returns it; nothing where the shard is not there as it was
  /// written.
  std::optional<Index> fetch_index(const ManifestShard& shard);

  /// Takes the address for this run: writes the journal that lies in the folder, removes penstock.json if it is there,
  /// and all of penstock's but `whole` shards. After require_free().
  void begin(std::span<const ManifestShard> whole);
  /// Sends the shard, unless it is `there` already, and its index, and removes the shard from the folder, but for its
  /// head where that is kept.
  void add_shard(const ManifestShard& shard, bool there, bool keep_head);
  /// Sends the journal, and the report where there is one, as they lie in the folder.
  void save_journal();
  /// The head of each of these shards that the folder lacks, followed by a hole: all that comes before the first value.
  void fetch_heads(std::span<const ManifestShard> shards);
  /// Sends what else lies in the folder, then penstock.json, and removes the journal.
  void finish(std::span<const ManifestShard> shards, const std::string& manifest);
  /// Removes what an unfinished run left, its own journal last. Never throws: what cannot be removed stays.
  void discard() noexcept;

  /// Ends what is being sent with Error: resource, "interrupted". Any thread may say so.
  void abort() noexcept { aborted_ = true; }
  /// For waits of a thread that works for it: whether abort() was called, or what the thread waited for before is over.
  std::function<bool()> when_aborted() const;

  const std::string& address() const { return address_; }

 private:
  std::string at(const std::string& name) const { return address_ + "/" + name; }
  void look();
  void send(const std::string& name);
  void send_text(const std::string& name, const std::string& text, bool if_absent);
  void fetch_head(const ManifestShard& shard) const;
  void require_own_journal() const;
  void require_not_aborted() const;

  const std::string address_;
  const std::filesystem::path folder_;
  const std::string run_;                       // tells this run's journal from those of others
  std::map<std::string, std::uint64_t> there_;  // what is penstock's in the store, and its bytes
  std::string first_foreign_;                   // of the other objects; empty: none
  std::string journal_version_;                 // as this run left it; empty: it has written none
  std::string report_sent_;
  std::atomic<bool> aborted_{false};
};

}  // namespace penstock
