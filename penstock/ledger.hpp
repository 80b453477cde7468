// Audits a delivery log: whether each sample of an epoch was delivered once, over all ranks and restarts.
// docs/spec/ledger.md defines what counts.
//
//   const penstock::LedgerAudit audit = penstock::audit_ledger("log");
//   std::cout << penstock::to_text(audit);
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

/// Positions of an epoch's order that have the same fault.
struct AuditedPositions {
  struct Range {
    std::uint64_t first = 0, end = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::uint64_t count = 0;
  std::vector<Range> ranges;           ///< the first 1,000
  std::vector<std::uint64_t> samples;  ///< sample numbers of the first 1,000 positions, if a dataset was given
  std::vector<std::string> keys;       ///< keys of these samples
};

/// The deliveries of one epoch, compared with its order.
struct AuditedEpoch {
  enum class Verdict : std::uint8_t { proved, unfinished, faulty };

  std::uint64_t epoch = 0;
  std::uint64_t samples = 0;
  std::uint64_t delivered = 0;             ///< number of the samples delivered, each counted once
  std::uint64_t left_out = 0;              ///< by last="drop"
  std::uint64_t bad = 0;                   ///< delivered samples that were invalid: replaced by others, or marked
  std::uint64_t taken_back = 0;            ///< deliveries that a restore, or another start, rolled back
  std::vector<std::uint32_t> worlds = {};  ///< world sizes in order, one entry per change
  std::uint64_t turns = 0;                 ///< runs of batches that the epoch consists of; 1 without a restore
  AuditedPositions missing = {}, twice = {};
  Verdict verdict = Verdict::unfinished;
};

/// The result of audit_ledger().
struct LedgerAudit {
  std::filesystem::path ledger;
  std::string dataset;            ///< as the loaders opened it
  std::uint64_t fingerprint = 0;  ///< of the dataset
  std::uint64_t files = 0;
  std::vector<AuditedEpoch> epochs;  ///< in rising order
  std::vector<std::string> faults;   ///< one sentence for each fault, including faults of files
  /// facts that are not faults: records cut off by a kill, an epoch that has not ended
  std::vector<std::string> notes;

  bool good() const { return faults.empty(); }
};

/// Reads the whole delivery log, which may be written to meanwhile. If `dataset` is given, the audit names the samples
/// that are missing or came twice, unless the order of a subset prevents it. Throws Error: io; invalid_argument, if the
/// folder contains no delivery log or the dataset is a different one; corrupt, if the folder contains files of several
/// datasets or orders.
LedgerAudit audit_ledger(const std::filesystem::path& folder, const Dataset* dataset = nullptr);

/// Writes the audit as a table, then faults and notes.
std::string to_text(const LedgerAudit& audit);
std::string to_json(const LedgerAudit& audit);
std::string_view name(AuditedEpoch::Verdict verdict);

}  // namespace penstock
