// The order of a mixture: the source and the sample at every position of an epoch.
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
  std::uint64_t weight = 0;                   ///< relative to a total of about 2^32
  std::uint64_t samples = 0;                  ///< in one pass over it
  std::uint64_t first = 0;                    ///< number of its first sample in the list of all sources' samples
  std::optional<std::uint64_t> of_some = {};  ///< fingerprint, if a pass leaves out samples of the dataset

  /// Fingerprint of the samples in a pass. For a view, the first call reads all keys.
  std::uint64_t fingerprint() const { return of_some ? *of_some : dataset.fingerprint(); }
};

/// The number of samples that a mixture's sources gave before an epoch. A state contains it if it was carried over from
/// other weights or sources.
struct Carried {
  std::uint64_t epoch = 0;
  std::vector<std::uint64_t> taken;  ///< by source
  friend bool operator==(const Carried&, const Carried&) = default;
};

/// Consecutive positions with the same weights.
struct MixedPhase {
  std::uint64_t begin;                ///< position in the training, counted through all epochs
  std::vector<std::uint64_t> weight;  ///< parts of each source, of about 2^32
  ShareTree tree;
  std::uint64_t length;
  std::vector<std::uint64_t> before;  ///< samples that each source gives in earlier phases
};

/// The part that is the same for all epochs.
struct MixedOrder {
  /// `changes`: positions from which the sources have other parts. Throws Error: invalid_argument, if the epoch would
  /// be empty, or longer than 2^48 samples.
  MixedOrder(std::vector<MixedSource> mixed, const MixtureOptions& options,
             const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>>& changes = {});

  std::uint32_t source_of(std::uint64_t sample) const;  ///< `sample`: number in the list

  std::vector<MixedSource> sources;
  Sampling sampling;
  bool carry;            ///< whether a state of other weights or sources may be restored
  std::uint64_t length;  ///< samples of an epoch
  /// One phase, which every epoch begins again. With a schedule, several phases, which continue from epoch to epoch.
  std::vector<MixedPhase> phases;
  bool scheduled() const { return phases.size() > 1; }
  std::uint64_t schedule_fingerprint() const;  ///< of the schedule; 0 without one
  /// By source, in every epoch; with a schedule, the maximum over the phases for an epoch of this length.
  std::vector<std::uint64_t> counts;
};

struct MixedRow {
  std::uint64_t position;    ///< in the epoch
  std::uint64_t sample;      ///< number in the list of all sources' samples
  std::uint32_t occurrence;  ///< number of earlier passes over its source that began in the epoch
};

/// One epoch of a mixture, for one rank. Used by one thread at a time.
class MixedEpoch {
 public:
  struct Options {
    std::shared_ptr<const MixedOrder> order;
    std::shared_ptr<const Carried> carried;  ///< null: nothing was carried over before epoch 0
    SampleOrderOptions within;               ///< order of a pass over a source; `samples` is ignored
    std::uint64_t epoch = 0;
    std::uint64_t start = 0;  ///< position of batch 0
    std::uint32_t batch_size = 1, rank = 0, world = 1;
  };
  /// Throws Error: invalid_argument, for an epoch before the one in which a state was carried over.
  explicit MixedEpoch(const Options& options);

  MixedRow row_at(std::uint64_t position);
  /// This rank's rows of a step whose positions are all in the epoch, by rising position. Replaces `rows`.
  void rows_of(std::uint64_t step, std::vector<MixedRow>& rows);
  /// The number of samples that each source has given in total before this position of the epoch.
  std::vector<std::uint64_t> taken_before(std::uint64_t position);

 private:
  struct Pass {
    std::uint64_t number;
    SampleOrderAhead order;
  };
  struct Source {
    std::uint64_t first_pass, place;  // pass in which the epoch begins, and position in it
    std::optional<Pass> pass;         // the pass used last
    std::uint64_t next = 0;           // the index after the last one of row_at()
  };
  SharePlace place_of(std::uint64_t position);
  MixedRow row_of(const SharePlace& place, std::uint64_t position, std::uint64_t expected);

  Options options_;
  const MixedOrder& order_;
  std::variant<PhasedShares, DrawnShares> shares_;
  RankDeal deal_;
  std::vector<std::uint64_t> taken_;  // by source, before the epoch
  std::vector<Source> sources_;
};

}  // namespace penstock
