// Reads a file of a ledger, even if it is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <record/ledger/folder.hpp>
#include <record/ledger/header.hpp>
#include <record/ledger/record.hpp>

namespace penstock {

/// Positions [first, end) of an epoch's order.
struct LedgerRange {
  std::uint64_t first = 0, end = 0;
  std::uint64_t size() const { return end - first; }
  friend bool operator==(const LedgerRange&, const LedgerRange&) = default;
};

/// Deliveries of a loader with consecutive batch numbers: a move and the batches after it.
struct LedgerStretch {
  std::size_t file = 0;    ///< number of its file
  std::uint64_t time = 0;  ///< of the move
  LedgerMove move = {};
  std::uint32_t world = 1, batch_size = 1, rank = 0;
  std::vector<LedgerRange> given = {};                  ///< in the order of the batches; adjacent ranges are merged
  std::vector<LedgerRange> failed = {};                 ///< next() threw instead of delivering them
  std::map<std::uint64_t, std::uint64_t> bad = {};      ///< first position of a batch -> number of its invalid samples
  std::uint64_t batches = 0;                            ///< given and failed
  std::uint64_t last_batch = 0, reached = 0, ends = 0;  ///< of the last batch

  /// Whether both are shares of one run of batches over all ranks.
  bool same_turn(const LedgerStretch& other) const {
    const auto same = [](const LedgerMove& a, const LedgerMove& b) {
      return a.epoch == b.epoch && a.seed == b.seed && a.shuffle_block == b.shuffle_block && a.start == b.start &&
             a.batch == b.batch;
    };
    return world == other.world && batch_size == other.batch_size && same(move, other.move);
  }
};

struct LedgerContent {
  std::string name;
  std::optional<LedgerHeader> header = {};  ///< nothing if it is damaged or of a later version; `faults` then says so
  std::vector<LedgerStretch> stretches = {};
  std::uint64_t records = 0;
  std::uint64_t first_time = 0, last_time = 0;  ///< of the records; 0 without any
  bool ended = false;                           ///< its loader was destroyed while the process continued
  bool torn = false;                            ///< its last record is incomplete: the process ended while writing it
  std::vector<std::string> faults = {};         ///< descriptions of the damage
};

/// Reads a file. `number` becomes LedgerStretch::file. Throws Error: io.
LedgerContent read_ledger_file(const LedgerFolder& folder, const std::string& name, std::size_t number);

}  // namespace penstock
