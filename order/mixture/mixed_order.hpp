// The order of a mixture: which source, and which sample of it, every position of an epoch has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <order/mixture/drawn_shares.hpp>
#include <order/mixture/phased_shares.hpp>
#include <order/mixture/rank_deal.hpp>
#include <order/mixture/shares.hpp>
#include <order/permutation/sample_order.hpp>
#include <penstock/dataset.hpp>
#include <penstock/order.hpp>

namespace penstock {

struct MixedSource {
  std::string name;
  Dataset dataset;
  std::uint64_t weight = 0;                   ///< parts of about 2^32
  std::uint64_t samples = 0;                  ///< that one pass over it delivers
  std::uint64_t first = 0;                    ///< of them in the list of all sources' samples
  std::optional<std::uint64_t> of_some = {};  ///< fingerprint, where a pass leaves samples of the dataset out

  /// Of the samples of a pass. For a view it reads all keys, the first time.
  std::uint64_t fingerprint() const { return of_some ? *of_some : dataset.fingerprint(); }
};

/// What the sources of a mixture gave before an epoch: where a state says so, for that of other weights or sources.
struct Carried {
  std::uint64_t epoch = 0;
  std::vector<std::uint64_t> taken;  ///< of each source, before that epoch
  friend bool operator==(const Carried&, const Carried&) = default;
};

/// Positions that are divided by the same weights.
struct MixedPhase {
  std::uint64_t begin;                ///< in the training: epochs stand one behind the other
  std::vector<std::uint64_t> weight;  ///< parts of each source, of about 2^32
  ShareTree tree;
  std::uint64_t length;
  std::vector<std::uint64_t> before;  ///< samples that each source gives in the phases before
};

/// What is the same for all epochs.
struct MixedOrder {
  /// `changes`: positions from which on the sources have other parts. Throws Error: invalid_argument, where the epoch
  /// would be empty, or longer than 2^48 samples.
  MixedOrder(std::vector<MixedSource> mixed, const MixtureOptions& options,
             const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>>& changes = {});

  std::uint32_t source_of(std::uint64_t sample) const;  ///< by its number in the list

  std::vector<MixedSource> sources;
  Sampling sampling;
  bool carry;            ///< a state of other weights or sources may be restored
  std::uint64_t length;  ///< samples of an epoch
  /// One, which every epoch begins anew; with a schedule several, that go on from epoch to epoch.
  std::vector<MixedPhase> phases;
  bool scheduled() const { return phases.size() > 1; }
  std::uint64_t schedule_fingerprint() const;  ///< of when which weights come; 0 without a schedule
  std::vector<std::uint64_t> counts;  ///< of each source, in every epoch; with a schedule, in that which has most of it
};

struct MixedRow {
  std::uint64_t position;    ///< in the epoch
  std::uint64_t sample;      ///< number in the list of all sources' samples
  std::uint32_t occurrence;  ///< passes over its source that the epoch has begun before
};

/// One epoch of it, for one rank. Used by one thread at a time.
class MixedEpoch {
 public:
  struct Options {
    std::shared_ptr<const MixedOrder> order;
    std::shared_ptr<const Carried> carried;  ///< null: nothing was, before epoch 0
    SampleOrderOptions within;               ///< a pass over a source; `samples` means nothing
    std::uint64_t epoch = 0;
    std::uint64_t start = 0;  ///< position of batch 0
    std::uint32_t batch_size = 1, rank = 0, world = 1;
  };
  /// Throws Error: invalid_argument, for an epoch before that of what was carried.
  explicit MixedEpoch(const Options& options);

  MixedRow row_at(std::uint64_t position);
  /// Those that this rank has of a step whose positions all lie in the epoch, by rising positions. Replaces `rows`.
  void rows_of(std::uint64_t step, std::vector<MixedRow>& rows);
  /// What each source has given, ever, before this position of the epoch.
  std::vector<std::uint64_t> taken_before(std::uint64_t position);

 private:
  struct Pass {
    std::uint64_t number;
    SampleOrderAhead order;
  };
  struct Source {
    std::uint64_t first_pass, place;  // where the epoch begins in it
    std::optional<Pass> pass;         // the last one that was asked for
    std::uint64_t next = 0;           // behind the index that row_at() had last
  };
  SharePlace place_of(std::uint64_t position);
  MixedRow row_of(const SharePlace& place, std::uint64_t position, std::uint64_t expected);

  Options options_;
  const MixedOrder& order_;
  std::variant<PhasedShares, DrawnShares> shares_;
  RankDeal deal_;
  std::vector<std::uint64_t> taken_;  // before the epoch
  std::vector<Source> sources_;
};

}  // namespace penstock
