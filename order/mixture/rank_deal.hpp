// Deals what a step of a mixture has of each source to the ranks, so that each of them has its share of every source.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <order/mixture/phased_shares.hpp>

namespace penstock {

/// Indices [first, first + count) of a source.
struct SourceRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// A step is the batches that all ranks have side by side: `world * batch_size` positions. Each rank gets the same
/// number of a source, as far as that goes; what is left over, fewer than there are ranks, goes to those that had the
/// least of what was left over before, counted anew every kDealSteps steps. Over any 100 batches a rank's part of a
/// source is within 2 * batch_size of its weight, for two sources and any batch size, and for more sources from 4 rows
/// on.
class RankDeal {
 public:
  static constexpr std::uint64_t kDealSteps = 256;

  /// Of an epoch whose batch 0 begins at position `start`.
  RankDeal(std::uint64_t start, std::uint32_t batch_size, std::uint32_t rank, std::uint32_t world);

  /// What this rank has of each source in a step whose positions all lie in the epoch. Steps one after another cost the
  /// least; any other at most kDealSteps of them.
  std::span<const SourceRun> runs_of(const PhasedShares& shares, std::uint64_t step);

 private:
  void begin_dealing();
  void deal(std::uint64_t step, std::span<const std::uint64_t> begin, std::span<const std::uint64_t> end);

  const std::uint64_t start_;
  const std::uint32_t batch_size_, rank_, world_;
  std::uint64_t next_ = ~std::uint64_t{0};   // the step that is dealt next; what follows is as of there
  std::vector<std::uint64_t> begin_;         // positions before it, of each source
  std::vector<std::uint32_t> given_;         // of what was left over, to each rank of each source
  std::vector<std::uint32_t> room_, order_;  // of ranks, while a step is dealt
  std::vector<SourceRun> runs_;
};

}  // namespace penstock
