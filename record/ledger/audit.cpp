#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <base/printable.hpp>
#include <formats/io/hash.hpp>
#include <order/plan.hpp>
#include <penstock/error.hpp>
#include <penstock/ledger.hpp>
#include <record/ledger/history.hpp>
#include <record/ledger/reader.hpp>

namespace penstock {
namespace {

constexpr std::size_t kPositionsListed = 1000;
constexpr std::uint64_t kBatchesApart = 2;  // between ranks that synchronise in every step
// Tolerance for differences between the clocks of machines, in ns.
constexpr std::uint64_t kOneAfterAnother = 10'000'000'000;

using Turns = std::vector<LedgerTurn>;
using Share = std::pair<std::uint32_t, std::uint32_t>;  // world, rank

void list_range(AuditedPositions& positions, std::uint64_t first, std::uint64_t end) {
  positions.count += end - first;
  if (!positions.ranges.empty() && positions.ranges.back().end == first) {
    positions.ranges.back().end = end;
  } else if (positions.ranges.size() < kPositionsListed) {
    positions.ranges.push_back({first, end});
  }
}

std::string place_of(const AuditedPositions& positions) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, positions.ranges.size()); ++i) {
    const auto [first, end] = positions.ranges[i];
    text += (i == 0 ? "" : ", ") + std::to_string(first);
    if (end - first > 1) text += " to " + std::to_string(end - 1);
  }
  return text + (positions.ranges.size() > kShown ? ", ..." : "");
}

/// Returns the ranges that count, in ascending order.
std::vector<LedgerRange> ranges_of(const Turns& turns) {
  std::vector<LedgerRange> ranges;
  for (const LedgerTurn& turn : turns) {
    for (const auto& [rank, share] : turn.shares) {
      for (const auto& [first, end] : share.stretch->given)
        if (first < share.limit) ranges.push_back({first, std::min(end, share.limit)});
    }
  }
  std::ranges::sort(ranges, {}, [](const LedgerRange& range) { return std::pair(range.first, range.end); });
  return ranges;
}

/// Returns the position that all ranks have reached in the last turn.
std::uint64_t reached_by_all(const LedgerTurn& turn) {
  const LedgerStretch& any = turn.any();
  if (turn.shares.size() < any.world) return any.move.position;
  std::uint64_t reached = any.ends;
  for (const auto& [rank, share] : turn.shares) reached = std::min(reached, share.stretch->reached);
  return reached;
}

class LedgerAuditor {
 public:
  LedgerAuditor(const LedgerFolder& folder, const Dataset* dataset) : folder_(folder), dataset_(dataset) {
    audit_.ledger = folder.path();
  }

  LedgerAudit run() {
    read();
    std::vector<const LedgerStretch*> stretches;
    for (const LedgerContent& file : files_)
      for (const LedgerStretch& stretch : file.stretches) stretches.push_back(&stretch);
    history_ = ledger_history(stretches);
    find_current(stretches);
    for (const LedgerStretch* stretch : stretches)
      for (const LedgerRange& range : stretch->given) delivered_[stretch->move.epoch] += range.size();
    for (const auto& [epoch, turns] : history_) audit_.epochs.push_back(audited(epoch, turns));
    tell_of_two_at_once();
    return std::move(audit_);
  }

 private:
  void read() {
    const std::vector<std::string> names = folder_.names();
    const auto where = folder_.path().string();
    if (names.empty()) throw Error::invalid_argument(where + " holds no ledger: no file in it ends in .ledger");
    for (const std::string& name : names) {
      files_.push_back(read_ledger_file(folder_, name, files_.size()));
      const LedgerContent& file = files_.back();
      for (const std::string& fault : file.faults) audit_.faults.push_back(name + ": " + fault);
      if (file.torn)
        audit_.notes.push_back(name +
                               ": its last record is incomplete and was ignored: the process ended while writing it, "
                               "or the file was truncated");
      if (!file.header) continue;
      if (!header_) header_ = *file.header;
      require_alike(*file.header);
    }
    audit_.files = names.size();
    if (!header_) return;
    audit_.dataset = header_->path;
    audit_.fingerprint = header_->state.dataset;
    if (header_->state.order->draws)
      audit_.notes.push_back(
          "the loader drew its samples by a sampler: the audit counts positions of the order, not samples");
    if (dataset_ != nullptr && header_->state.mixture)
      throw Error::unsupported("the ledger " + where + " was written with a mixture: audit it without a dataset",
                               {.dataset = dataset_->path().string()});
    if (dataset_ != nullptr && dataset_->fingerprint() != header_->state.dataset)
      throw Error::invalid_argument("the ledger " + where + " was written with another dataset, " + header_->path,
                                    {.dataset = dataset_->path().string()});
  }

  void require_alike(const LedgerHeader& other) const {
    const std::string difference = ledger_difference(other.state, header_->state);
    if (difference.empty()) return;
    throw Error::corrupt("the ledger " + folder_.path().string() +
                         " has files of several datasets or orders: one was written with " + difference);
  }

  // Finds the epochs that may be incomplete. These are the epoch of the latest stretch and, if that has just begun,
  // the epoch before, as long as a rank was still in it.
  void find_current(const std::vector<const LedgerStretch*>& stretches) {
    if (stretches.empty()) return;
    const LedgerStretch* last = stretches.front();
    for (const LedgerStretch* stretch : stretches)
      if (stretch->time >= last->time) last = stretch;
    const LedgerStretch& latest = *last;
    current_.insert(latest.move.epoch);
    const LedgerTurn& turn = history_.at(latest.move.epoch).back();
    const bool just_begun = std::ranges::all_of(
        turn.shares, [](const auto& share) { return share.second.stretch->batches <= kBatchesApart; });
    if (!just_begun) return;
    std::map<std::uint32_t, const LedgerStretch*> latest_of;  // by rank
    for (const LedgerStretch* stretch : stretches) {
      if (stretch->world != latest.world) continue;
      const LedgerStretch*& known = latest_of[stretch->rank];
      if (known == nullptr || known->time < stretch->time) known = stretch;
    }
    for (const auto& [rank, stretch] : latest_of)
      if (stretch->move.epoch + 1 == latest.move.epoch) current_.insert(stretch->move.epoch);
  }

  AuditedEpoch audited(std::uint64_t epoch, const Turns& turns) {
    AuditedEpoch told{.epoch = epoch, .samples = header_->state.samples, .turns = turns.size()};
    const LedgerTurn& last = turns.back();
    const std::uint64_t ends = last.any().ends;
    told.left_out = told.samples - ends;
    for (const LedgerTurn& turn : turns) {
      if (told.worlds.empty() || told.worlds.back() != turn.any().world) told.worlds.push_back(turn.any().world);
      for (const auto& [rank, share] : turn.shares)
        for (const auto& [first, bad] : share.stretch->bad)
          if (first < share.limit) told.bad += bad;
    }
    const std::vector<LedgerRange> ranges = ranges_of(turns);
    std::uint64_t counted = 0;
    for (const LedgerRange& range : ranges) counted += range.size();
    told.taken_back = delivered_[epoch] - counted;

    AuditedPositions lacking;
    compare(ranges, ends, told, lacking);
    const bool over = lacking.count == 0;
    if (!over && current_.contains(epoch)) {
      AuditedEpoch again;
      compare(ranges, reached_by_all(last), again, told.missing);
    } else {
      told.missing = std::move(lacking);
    }
    const bool faulty = tell_of_faults(told, turns);
    told.verdict = faulty ? AuditedEpoch::Verdict::faulty
                          : (over ? AuditedEpoch::Verdict::proved : AuditedEpoch::Verdict::unfinished);
    if (told.verdict == AuditedEpoch::Verdict::unfinished) tell_of_rest(told, last);
    name_samples(told.missing, epoch, last.any().move);
    name_samples(told.twice, epoch, last.any().move);
    return told;
  }

  // Compares ascending ranges with [0, ends) and reports missing and repeated positions.
  static void compare(const std::vector<LedgerRange>& ranges, std::uint64_t ends, AuditedEpoch& told,
                      AuditedPositions& lacking) {
    std::uint64_t reached = 0;  // end of the checked positions
    for (const auto& [first, end] : ranges) {
      if (first > reached && reached < ends) list_range(lacking, reached, std::min(first, ends));
      if (first < reached) list_range(told.twice, first, std::min(end, reached));
      told.delivered += end > reached ? end - std::max(first, reached) : 0;
      reached = std::max(reached, end);
    }
    if (reached < ends) list_range(lacking, reached, ends);
  }

  bool tell_of_faults(const AuditedEpoch& told, const Turns& turns) {
    const std::string epoch = "epoch " + std::to_string(told.epoch) + ": ";
    const std::size_t before = audit_.faults.size();
    if (told.missing.count > 0)
      audit_.faults.push_back(epoch + std::to_string(told.missing.count) + " of " + std::to_string(told.samples) +
                              " samples were not delivered, at positions " + place_of(told.missing) + failures(turns) +
                              (current_.contains(told.epoch) ? "" : ", although a later epoch has begun"));
    if (told.twice.count > 0)
      audit_.faults.push_back(epoch + std::to_string(told.twice.count) +
                              " samples were delivered more than once, at positions " + place_of(told.twice));
    for (std::size_t i = 1; i < turns.size(); ++i) {
      const LedgerMove &one = turns[i - 1].any().move, &next = turns[i].any().move;
      if (one.seed == next.seed && one.shuffle_block == next.shuffle_block) continue;
      audit_.faults.push_back(epoch + "its order changes at position " + std::to_string(next.position) +
                              ": seed or shuffle_block differ before and after it");
    }
    return audit_.faults.size() != before;
  }

  static std::string failures(const Turns& turns) {
    std::uint64_t failed = 0;
    for (const LedgerTurn& turn : turns)
      for (const auto& [rank, share] : turn.shares)
        for (const auto& [first, end] : share.stretch->failed)
          if (first < share.limit) failed += std::min(end, share.limit) - first;
    return failed == 0 ? ""
                       : "; for " + std::to_string(failed) + " of them the loader raised an error instead of a batch";
  }

  void tell_of_rest(const AuditedEpoch& told, const LedgerTurn& last) {
    std::string ranks;
    const auto by_batch = [](const auto& share) { return share.second.stretch->last_batch; };
    const auto [at_least, at_most] = std::ranges::minmax_element(last.shares, {}, by_batch);
    const auto &least = *at_least, &most = *at_most;
    if (last.any().world > last.shares.size()) {
      ranks = "; " + std::to_string(last.any().world - last.shares.size()) + " of " + std::to_string(last.any().world) +
              " ranks have received no batch of it since it last began";
    } else if (by_batch(most) > by_batch(least) + kBatchesApart) {
      ranks = "; rank " + std::to_string(least.first) + " is at batch " + std::to_string(by_batch(least)) + ", rank " +
              std::to_string(most.first) + " at " + std::to_string(by_batch(most));
    }
    audit_.notes.push_back("epoch " + std::to_string(told.epoch) + " is not over: " + std::to_string(told.delivered) +
                           " of " + std::to_string(told.samples) + " samples have been delivered so far" + ranks);
  }

  void name_samples(AuditedPositions& positions, std::uint64_t epoch, const LedgerMove& move) const {
    const SavedOrder& order = *header_->state.order;
    if (dataset_ == nullptr || positions.count == 0 || order.subset || order.draws || header_->state.buckets) return;
    const Plan plan({.samples = header_->state.samples,
                     .shuffle = order.shuffle,
                     .shuffle_block = move.shuffle_block,
                     .shuffle_window = order.shuffle_window,
                     .seed = move.seed},
                    epoch);
    for (const auto& [first, end] : positions.ranges) {
      for (std::uint64_t at = first; at < end && positions.samples.size() < kPositionsListed; ++at) {
        positions.samples.push_back(plan.sample_at(at));
        positions.keys.push_back(one_line(dataset_->key(positions.samples.back())));
      }
    }
  }

  // Reports a loader that began to deliver as a rank while another one was still delivering as the same rank.
  void tell_of_two_at_once() {
    std::map<Share, const LedgerContent*> latest_of;
    std::vector<const LedgerContent*> in_order;
    for (const LedgerContent& file : files_)
      if (file.header && file.records > 0) in_order.push_back(&file);
    std::ranges::stable_sort(in_order, {}, [](const LedgerContent* file) { return file->first_time; });
    for (const LedgerContent* file : in_order) {
      const Share share{file->header->state.world, file->header->rank};
      const LedgerContent*& before = latest_of[share];
      if (before != nullptr && before->last_time > file->first_time + kOneAfterAnother) {
        audit_.faults.push_back("two loaders delivered as rank " + std::to_string(share.second) + " of " +
                                std::to_string(share.first) + " at the same time: " + before->name + " and " +
                                file->name);
      }
      if (before == nullptr || before->last_time < file->last_time) before = file;
    }
  }

  const LedgerFolder& folder_;
  const Dataset* dataset_;
  std::vector<LedgerContent> files_;
  std::optional<LedgerHeader> header_;  // of the first file that has a header
  LedgerHistory history_;
  std::set<std::uint64_t> current_;                   // epochs that may be incomplete
  std::map<std::uint64_t, std::uint64_t> delivered_;  // by epoch; includes deliveries that were rolled back
  LedgerAudit audit_;
};

}  // namespace

LedgerAudit audit_ledger(const std::filesystem::path& folder, const Dataset* dataset) {
  const LedgerFolder opened = LedgerFolder::opened(folder);
  return LedgerAuditor(opened, dataset).run();
}

std::string_view name(AuditedEpoch::Verdict verdict) {
  constexpr std::string_view kNames[]{"proved", "unfinished", "faulty"};
  return kNames[static_cast<std::size_t>(verdict)];
}

}  // namespace penstock
