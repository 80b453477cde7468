#include <algorithm>

#include <record/ledger/history.hpp>

namespace penstock {
namespace {

// Rolls back the epoch's turns from `position` on.
void take_back(std::vector<LedgerTurn>& turns, std::uint64_t position) {
  std::erase_if(turns, [&](const LedgerTurn& turn) { return turn.any().move.position >= position; });
  for (LedgerTurn& turn : turns)
    for (auto& [rank, share] : turn.shares) share.limit = std::min(share.limit, position);
}

// For later epochs: rolls back turns of other worlds, and this rank's share in turns of its world.
void take_back_share(std::vector<LedgerTurn>& turns, const LedgerStretch& stretch) {
  std::erase_if(turns, [&](LedgerTurn& turn) {
    const LedgerStretch& other = turn.any();
    if (other.world != stretch.world || other.batch_size != stretch.batch_size) return true;
    turn.shares.erase(stretch.rank);
    return turn.shares.empty();
  });
}

void add_to(LedgerHistory& history, const LedgerStretch& stretch) {
  std::vector<LedgerTurn>& turns = history[stretch.move.epoch];
  const auto later = history.upper_bound(stretch.move.epoch);
  if (!turns.empty() && turns.back().any().same_turn(stretch)) {
    turns.back().shares[stretch.rank] = {.stretch = &stretch};
    for (auto epoch = later; epoch != history.end(); ++epoch) take_back_share(epoch->second, stretch);
    return;
  }
  take_back(turns, stretch.move.position);
  history.erase(later, history.end());
  turns.push_back({.shares = {{stretch.rank, {.stretch = &stretch}}}});
}

}  // namespace

LedgerHistory ledger_history(const std::vector<const LedgerStretch*>& stretches) {
  std::vector<const LedgerStretch*> in_order = stretches;
  std::ranges::stable_sort(in_order, [](const LedgerStretch* a, const LedgerStretch* b) { return a->time < b->time; });
  LedgerHistory history;
  for (const LedgerStretch* stretch : in_order) add_to(history, *stretch);
  std::erase_if(history, [](const auto& epoch) { return epoch.second.empty(); });
  return history;
}

}  // namespace penstock
