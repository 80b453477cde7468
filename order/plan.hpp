// The plan: the sample in each row of each batch, as a pure function of (seed, epoch, rank, world).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <order/buckets/bucketed_order.hpp>
#include <order/draws/draw_order.hpp>
#include <order/mixture/mixed_order.hpp>
#include <order/permutation/row.hpp>
#include <order/permutation/sample_order.hpp>
#include <penstock/order.hpp>

namespace penstock {

/// The inputs of a plan. `samples` is the length of an epoch.
struct PlanOptions {
  std::uint64_t samples = 0;
  bool shuffle = false;
  std::uint64_t shuffle_block = 0, shuffle_window = 0;  ///< SampleOrderOptions
  std::uint64_t seed = 0;
  std::uint32_t batch_size = 1, rank = 0, world = 1;
  Last last = Last::keep;
  std::shared_ptr<const MixedOrder> mixed = {};  ///< of a mixture; null: the samples are one list
  std::shared_ptr<const Carried> carried = {};
  std::shared_ptr<const DrawOrder> draws = {};  ///< null: each sample of the list comes once
  /// Batches of similar lengths; null: rows keep the order.
  std::shared_ptr<const BucketedOrder> bucketed = {};
  BatchLimits composed = {};  ///< limits that the epoch's batches were composed for; unset: this plan's own
};

/// One rank's batches of one epoch, from position `start` on. Row i of batch b has this position of the epoch's order:
///
///   start + (b * world + rank) * batch_size + i
///
/// There are three exceptions:
/// - In a mixture by shares, if all ranks' batches are full: the i-th position that RankDeal gives the rank.
/// - With buckets, positions are places (ComposedEpoch).
/// - With a budget, step b consists of its global batch, which is divided into equal consecutive parts, one per rank.
///
/// At the end of the epoch, some samples may not fill a batch on every rank. `drop` leaves them out. `pad` puts them
/// into a last full batch. `keep` puts them into a last batch with as many rows as its fullest rank needs; with one
/// rank this is a short batch. Rows past the end repeat the epoch's order from its beginning and are not valid.
///
/// Used by one thread at a time.
class Plan {
 public:
  /// Throws Error: invalid_argument, if batch_size or world is 0, rank >= world, or start > samples.
  Plan(const PlanOptions& options, std::uint64_t epoch, std::uint64_t start = 0);
  /// Number of this rank's batches from `start` to the end of the epoch; equal on all ranks. With a budget, composes
  /// all of them.
  std::uint64_t batches() const;
  bool has(std::uint64_t b) const;  ///< b < batches(); with a budget it composes only the batches up to b
  /// Replaces `rows`; all ranks get equally many. Throws Error: invalid_argument, unless has(b).
  void batch(std::uint64_t b, std::vector<Row>& rows) const;
  std::uint64_t sample_at(std::uint64_t position) const;  ///< position < samples
  /// First position not delivered once every rank has had `delivered` batches. After the last batch, `samples`, even if
  /// some were dropped.
  std::uint64_t position_after(std::uint64_t delivered) const;
  /// The positions of a batch that are not repeats.
  struct Share {
    std::uint64_t first, end;  ///< of this rank's batch
    std::uint64_t reached;     ///< all positions below it are delivered once every rank has its batch of this number
    std::uint64_t ends;        ///< end of the epoch's delivered positions; last=drop leaves out those after it
  };
  /// Empty if there is no such batch.
  Share share(std::uint64_t b) const;
  /// share() without a plan. Valid only without a budget.
  static Share share_of(const PlanOptions& options, std::uint64_t start, std::uint64_t b);
  /// For a mixture: the number of samples that each source has given in total before a position of the epoch.
  std::vector<std::uint64_t> taken_before(std::uint64_t position) const { return mixed_->taken_before(position); }

 private:
  Row row_at(std::uint64_t position, bool valid) const;
  void add_rows(std::uint64_t first, std::uint64_t end, std::vector<Row>& rows) const;
  void bucket();
  bool by_budget() const { return bucketed_ != nullptr && bucketed_->by_budget(); }
  std::uint64_t ends() const;
  std::optional<ComposedEpoch::GlobalBatch> global_batch(std::uint64_t b) const;
  void rows_of(const ComposedEpoch::GlobalBatch& batch, std::vector<Row>& rows) const;

  PlanOptions options_;
  std::uint64_t epoch_, start_;
  std::uint64_t per_step_;  // samples per step, over all ranks
  SampleOrder order_;
  std::shared_ptr<MixedEpoch> mixed_;  // if set, this or `drawn_` replaces order_
  std::shared_ptr<DrawEpoch> drawn_;
  std::shared_ptr<BucketedEpoch> bucketed_;  // composes batches from rows of the orders above
};

}  // namespace penstock
