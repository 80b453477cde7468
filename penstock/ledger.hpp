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

/// Positions of an epoch's order that something is wrong with.
struct AuditedPositions {
  struct Range {
    std::uint64_t first = 0, end = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::uint64_t count = 0;
  std::vector<Range> ranges;           ///< the first 1,000
  std::vector<std::uint64_t> samples;  ///< where a dataset was given: of the first 1,000 positions
  std::vector<std::string> keys;       ///< of these
};

struct AuditedEpoch {
  enum class Verdict : std::uint8_t { proved, unfinished, faulty };

  std::uint64_t epoch = 0;
  std::uint64_t samples = 0;
  std::uint64_t delivered = 0;             ///< of the samples; each of them counts once
  std::uint64_t left_out = 0;              ///< by last=drop
  std::uint64_t bad = 0;                   ///< of those delivered, replaced by others or marked
  std::uint64_t taken_back = 0;            ///< deliveries that a restore, or another beginning, made void
  std::vector<std::uint32_t> worlds = {};  ///< one behind the other, each change
  std::uint64_t turns = 0;                 ///< runs of batches that it is made of: 1 without a restore
  AuditedPositions missing = {}, twice = {};
  Verdict verdict = Verdict::unfinished;
};

struct LedgerAudit {
  std::filesystem::path ledger;
  std::string dataset;            ///< as the loaders opened it
  std::uint64_t fingerprint = 0;  ///< of it
  std::uint64_t files = 0;
  std::vector<AuditedEpoch> epochs;  ///< in rising order
  std::vector<std::string> faults;   ///< sentences, with what is wrong with files
  std::vector<std::string> notes;    ///< what is no fault: records cut off by a kill, an epoch that is not over

  bool good() const { return faults.empty(); }
};

/// Reads all of it; it may be written to meanwhile. `dataset`: names what is missing and what came twice, as far as the
/// order of a subset is not in its way. Throws Error: io; invalid_argument, where the folder holds no ledger, or the
/// dataset is another one; corrupt, where it holds files of several datasets or orders.
LedgerAudit audit_ledger(const std::filesystem::path& folder, const Dataset* dataset = nullptr);

std::string to_text(const LedgerAudit& audit);  ///< a table, and what else there is to say
std::string to_json(const LedgerAudit& audit);
std::string_view name(AuditedEpoch::Verdict verdict);

}  // namespace penstock
