// What of a ledger counts: what no restore took back.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include <record/ledger/reader.hpp>

namespace penstock {

/// The shares of several ranks of one run of batches, from one beginning on.
struct LedgerTurn {
  struct Share {
    const LedgerStretch* stretch = nullptr;
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  ///< what lies from there on was taken back
  };
  std::map<std::uint32_t, Share> shares;  ///< by rank; at least one
  const LedgerStretch& any() const { return *shares.begin()->second.stretch; }
};

/// The turns of each epoch, one behind the other.
using LedgerHistory = std::map<std::uint64_t, std::vector<LedgerTurn>>;

/// Goes through all stretches in the order of their times. One that begins at a position of an epoch takes back what
/// lies at or behind that position, in that epoch and in all later ones: what all delivered; but where the epoch's last
/// turn began there, too, it is another share of that turn, and takes back what its own rank delivered and what other
/// worlds did. The stretches outlive what is returned.
LedgerHistory ledger_history(const std::vector<const LedgerStretch*>& stretches);

}  // namespace penstock
