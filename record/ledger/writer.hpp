// Enters into a ledger what a loader delivers.
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

/// Which positions of the epoch's order a rank's batch has, and how far all ranks are once each has its batch of that
/// number. The ledger knows no more than this of how an epoch is divided.
LedgerBatch ledger_batch(const PlanOptions& plan, const Position& at);

/// Used in the consumer's thread.
class LedgerWriter {
 public:
  /// `mine` says whose file it is; its `begun` is set here: the time, but behind every file that is there. Throws
  /// Error: invalid_argument, where the folder holds the ledger of another dataset or order; io.
  LedgerWriter(const std::filesystem::path& folder, LedgerHeader mine, const PlanOptions& plan);

  /// Before a batch is taken, so that none is taken that could not be entered. Throws Error: io, for a full disk;
  /// invalid_argument, before the first batch, where another loader that still runs on this machine delivers as the
  /// same rank.
  void make_room();
  /// The batch of that position was given to the consumer, or failed. `bad`: of its samples. Throws Error: io.
  void enter(LedgerRecord::Kind outcome, const Position& at, std::uint64_t bad);
  /// The loader goes from there to the next epoch. Where it was put there, and the epoch has no batch for it, that is
  /// entered. Throws as the above.
  void pass(const Position& at);
  /// What was entered survives the machine, too; unless that was seen to less than a second ago. Throws Error: io.
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
  std::optional<Position> last_;                     // that was entered
  std::uint64_t synced_ = 0;                         // records that survive the machine
  std::chrono::steady_clock::time_point sync_at_{};  // not before
};

/// Enters how taking a batch ended: as failed, unless it was given.
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
