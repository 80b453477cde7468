// Records a loader's deliveries in a ledger.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <order/plan.hpp>
#include <order/position.hpp>
#include <record/ledger/file.hpp>
#include <record/ledger/folder.hpp>
#include <record/ledger/header.hpp>
#include <record/ledger/record.hpp>

namespace penstock {

/// Returns the positions of a rank's batch in the epoch's order, and the position that all ranks reach with their
/// batches of that number. The ledger needs no other information about the division of an epoch.
LedgerBatch ledger_batch(const PlanOptions& plan, const Position& at);

/// Used in the consumer's thread.
class LedgerWriter {
 public:
  /// `mine` identifies the file's loader. The constructor sets its `begun` to the current time, or later if the
  /// folder has a later file. Throws Error: invalid_argument, if the folder has the ledger of another dataset or
  /// order; io.
  LedgerWriter(const std::filesystem::path& folder, LedgerHeader mine, const PlanOptions& plan);

  /// Makes room in the file. Called before a batch is taken, so that every batch that is taken can be recorded.
  /// Throws Error: io, if the disk is full. Before the first batch, also throws invalid_argument, if another running
  /// loader on this machine delivers as the same rank.
  void make_room();
  /// Records that the batch at that position was delivered or failed. `bad` is the number of its invalid samples.
  /// Throws Error: io.
  void enter(LedgerRecord::Kind outcome, const Position& at, std::uint64_t bad);
  /// Records that the loader moves from this position to the next epoch, if it was set to the position and the epoch
  /// has no batch for it. Throws like make_room() and enter().
  void pass(const Position& at);
  /// Makes the records survive a crash of the machine, unless that was done less than a second ago. Throws Error: io.
  void sync();
  void close() noexcept;
  std::string path() const { return file_->path(); }

 private:
  void require_alike() const;
  void require_alone() const;
  std::uint64_t now();

  const LedgerFolder folder_;
  LedgerHeader mine_;
  const PlanOptions plan_;
  std::string name_;
  std::optional<LedgerFile> file_;
  std::uint64_t time_ = 0;                           // of the last record
  std::optional<Position> last_;                     // position recorded last
  std::uint64_t synced_ = 0;                         // number of records that survive a crash of the machine
  std::chrono::steady_clock::time_point sync_at_{};  // earliest time of the next sync
};

/// Records the outcome of taking a batch: failed, unless given() was called.
class LedgerEntry {
 public:
  LedgerEntry(LedgerWriter* ledger, const Position& at) : ledger_(ledger), at_(at) {}
  ~LedgerEntry();
  LedgerEntry(LedgerEntry&&) = delete;
  void given(std::uint64_t bad) {
    if (ledger_ == nullptr) return;
    LedgerWriter* const ledger = ledger_;
    ledger_ = nullptr;
    ledger->enter(LedgerRecord::Kind::batch, at_, bad);
  }

 private:
  LedgerWriter* ledger_;
  const Position at_;
};

}  // namespace penstock
