// The plan: it tells which sample is in which row of which batch, as a pure function of (seed, epoch, rank, world).
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

/// What a plan is a function of. `samples` counts what the epoch delivers.
struct PlanOptions {
  std::uint64_t samples = 0;
  bool shuffle = false;
  std::uint64_t shuffle_block = 0, shuffle_window = 0;  ///< SampleOrderOptions
  std::uint64_t seed = 0;
  std::uint32_t batch_size = 1, rank = 0, world = 1;
  Last last = Last::keep;
  std::shared_ptr<const MixedOrder> mixed = {};  ///< of a mixture; null: of one list
  std::shared_ptr<const Carried> carried = {};
  std::shared_ptr<const DrawOrder> draws = {};  ///< null: each sample of the list comes once
  /// Of batches of like lengths; null: rows stand in the order as it is.
  std::shared_ptr<const BucketedOrder> bucketed = {};
  BatchLimits composed = {};  ///< that the epoch's batches were composed for; unset: this plan's own
};

/// One rank's batches of one epoch, from position `start` on. Row i of batch b holds position
/// start + (b * world + rank) * batch_size + i of the epoch's order. Of a mixture's shares it is the ith of those that
/// RankDeal gives the rank, where all ranks' batches are full. With buckets positions are places (ComposedEpoch), and
/// with a budget step b has those of its global batch, of which each rank has as many, one behind the other.
///
/// What does not fill a batch on every rank, at the end of the epoch, is left out (drop), or given in a last batch
/// that is full (pad) or has as many rows as its fullest rank needs (keep: with one rank, that is a short batch).
/// Rows past the end repeat the epoch's order from its beginning and are not valid. Used by one thread at a time.
class Plan {
 public:
  /// Throws Error: invalid_argument, for batch_size or world 0, rank >= world, start > samples.
  Plan(const PlanOptions& options, std::uint64_t epoch, std::uint64_t start = 0);
  /// Of this rank from `start` to the end of the epoch; equal on all ranks. With a budget all of them are composed
  /// for it.
  std::uint64_t batches() const;
  bool has(std::uint64_t b) const;  ///< b < batches(); with a budget no more is composed for it than up to b
  /// Replaces `rows`; equally many on all ranks. Throws Error: invalid_argument, unless has(b).
  void batch(std::uint64_t b, std::vector<Row>& rows) const;
  std::uint64_t sample_at(std::uint64_t position) const;  ///< position < samples
  /// First position not delivered once every rank has had `delivered` batches; `samples` after the last batch, also
  /// when some were dropped.
  std::uint64_t position_after(std::uint64_t delivered) const;
  /// Positions of a batch that are samples of their own.
  struct Share {
    std::uint64_t first, end;  ///< of this rank's batch
    std::uint64_t reached;     ///< once every rank has its batch of this number: [0, reached)
    std::uint64_t ends;        ///< of the epoch: behind it lies what last=drop leaves out
  };
  /// Of a batch that is not there the share is empty.
  Share share(std::uint64_t b) const;
  /// The same without a plan, where there is no budget.
  static Share share_of(const PlanOptions& options, std::uint64_t start, std::uint64_t b);
  /// Of a mixture: what each source has given, ever, before a position of the epoch.
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
  std::uint64_t per_step_;  // samples that all ranks together take per batch
  SampleOrder order_;
  std::shared_ptr<MixedEpoch> mixed_;  // this or the next one in place of the order
  std::shared_ptr<DrawEpoch> drawn_;
  std::shared_ptr<BucketedEpoch> bucketed_;  // composes rows of that one
};

}  // namespace penstock
