// Deals each source's positions in a step of a mixture to the ranks, so that each rank has its share of every source.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <order/mixture/phased_shares.hpp>

namespace penstock {

/// The indices [first, first + count) of a source.
struct SourceRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// A step consists of the batches of all ranks: `world * batch_size` positions. Each rank gets the same number of
/// positions of a source, as far as they divide evenly. The leftovers, fewer than there are ranks, go to the ranks that
/// got the fewest leftovers before; these counts restart every kDealSteps steps.
///
/// Bound: over any 100 batches, a rank's part of a source is within 2 * batch_size of its weight. This holds for two
/// sources with any batch size, and for more sources with at least 4 rows.
class RankDeal {
 public:
  static constexpr std::uint64_t kDealSteps = 256;

  /// For an epoch whose batch 0 begins at position `start`.
  RankDeal(std::uint64_t start, std::uint32_t batch_size, std::uint32_t rank, std::uint32_t world);

  /// The indices of each source that this rank has in a step. All positions of the step must be in the epoch.
  /// Consecutive steps are the cheapest. Any other step costs at most kDealSteps of them, because the counts restart
  /// there.
  std::span<const SourceRun> runs_of(const PhasedShares& shares, std::uint64_t step);

 private:
  void begin_dealing();
  void deal(std::uint64_t step, std::span<const std::uint64_t> begin, std::span<const std::uint64_t> end);

  const std::uint64_t start_;
  const std::uint32_t batch_size_, rank_, world_;
  std::uint64_t next_ = ~std::uint64_t{0};   // step that is dealt next; the members below describe the state before it
  std::vector<std::uint64_t> begin_;         // by source: positions before that step
  std::vector<std::uint32_t> given_;         // leftovers given to each rank, by source
  std::vector<std::uint32_t> room_, order_;  // by rank, while a step is dealt
  std::vector<SourceRun> runs_;
};

}  // namespace penstock
