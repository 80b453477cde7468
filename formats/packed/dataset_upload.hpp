// Uploads a dataset to a store while it is packed: whole shards first, penstock.json last.
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

/// Shards that are written from beginning to end go to the store as they are written. Others are written in a local
/// folder. Each complete shard is sent to the store and then removed. Indexes stay in the folder, and so do the heads
/// of shards if the format's own readers need a file made from all heads. penstock.partial.jsonl beside the shards is
/// the journal of the unfinished run. Another run, also on another machine, can resume from it. Without penstock.json
/// the dataset cannot be opened. When a dataset is replaced, its penstock.json is removed first.
///
/// For use by one thread at a time, except abort(). Errors (io, from the store; invalid_argument) contain no secret.
class DatasetUpload {
 public:
  static constexpr std::string_view kJournal = "penstock.partial.jsonl";

  /// `address` has no slash at its end. Sends no request.
  DatasetUpload(std::string address, std::filesystem::path folder);

  /// Throws Error: invalid_argument, if the address is not free, by the same rules as for a folder: a dataset, an
  /// unfinished dataset, or foreign objects.
  void require_free(bool overwrite, bool resume);

  /// Downloads the journal of an interrupted run, and its report of samples left out, into the folder. Call after
  /// require_free(). Returns false if there is no journal.
  bool fetch_journal();
  /// Downloads the index of a shard into the folder and returns it. Returns nothing if the shard in the store is not as
  /// it was written.
  std::optional<Index> fetch_index(const ManifestShard& shard);

  /// Claims the address for this run: uploads the journal in the folder, removes penstock.json if it is there, and all
  /// of penstock's objects except the `whole` shards. Call after require_free().
  void begin(std::span<const ManifestShard> whole);
  /// Sends the shard, unless it is `there` already, and its index. Removes the shard from the folder, except its head
  /// if `keep_head`.
  void add_shard(const ManifestShard& shard, bool there, bool keep_head);
  /// Sends the current journal of the folder, and the report if there is one.
  void save_journal();
  /// Downloads the missing heads of these shards: all bytes before the first value, followed by a hole.
  void fetch_heads(std::span<const ManifestShard> shards);
  /// Sends the remaining files of the folder, then penstock.json, and removes the journal.
  void finish(std::span<const ManifestShard> shards, const std::string& manifest);
  /// Removes the objects of an unfinished run, its own journal last. Never throws: objects that cannot be removed
  /// remain.
  void discard() noexcept;

  /// Ends the current upload with Error: resource, "interrupted". Any thread may call it.
  void abort() noexcept { aborted_ = true; }
  /// Interruption check for a thread that works for this upload: true after abort(), or if the thread's previous check
  /// is true.
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
  const std::string run_;                       // distinguishes this run's journal from those of others
  std::map<std::string, std::uint64_t> there_;  // penstock's objects in the store, and their sizes
  std::string first_foreign_;                   // name of one foreign object; empty: none
  std::string journal_version_;                 // after this run's last write; empty: nothing written
  std::string report_sent_;
  std::atomic<bool> aborted_{false};
};

}  // namespace penstock
