// Selects the deliveries of a ledger that count: those that no restore rolled back.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include <record/ledger/reader.hpp>

namespace penstock {

/// The shares of several ranks in one run of batches with a common start.
struct LedgerTurn {
  struct Share {
    const LedgerStretch* stretch = nullptr;
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  ///< positions from here on were rolled back
  };
  std::map<std::uint32_t, Share> shares;  ///< by rank; at least one
  const LedgerStretch& any() const { return *shares.begin()->second.stretch; }
};

/// The turns of each epoch, in order.
using LedgerHistory = std::map<std::uint64_t, std::vector<LedgerTurn>>;

/// Goes through all stretches in the order of their times. A stretch that begins at a position of an epoch rolls back
/// all deliveries at or after that position, in that epoch and in all later ones.
///
/// There is one exception. If the epoch's last turn has the same beginning, the stretch is another share of that
/// turn. The stretch then rolls back only later epochs: the deliveries of the same rank, and those of other worlds.
/// The stretches must outlive the result.
LedgerHistory ledger_history(const std::vector<const LedgerStretch*>& stretches);

}  // namespace penstock
