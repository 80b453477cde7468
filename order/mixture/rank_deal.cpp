#include <algorithm>

#include <order/mixture/rank_deal.hpp>

namespace penstock {

RankDeal::RankDeal(std::uint64_t start, std::uint32_t batch_size, std::uint32_t rank, std::uint32_t world)
    : start_(start), batch_size_(batch_size), rank_(rank), world_(world), room_(world) {}

std::span<const SourceRun> RankDeal::runs_of(const PhasedShares& shares, std::uint64_t step) {
  const std::uint64_t first = step - step % kDealSteps;
  const std::uint64_t positions = std::uint64_t{batch_size_} * world_;
  if (next_ < first || next_ > step) {
    next_ = first;
    begin_ = shares.counts_before(start_ + next_ * positions);
  }
  while (next_ <= step) {
    if (next_ % kDealSteps == 0) begin_dealing();
    std::vector<std::uint64_t> end = shares.counts_before(start_ + (next_ + 1) * positions);
    deal(next_, begin_, end);
    begin_ = std::move(end);
    ++next_;
  }
  return runs_;
}

// Starts as if each source had been dealt to the ranks in turn until here.
void RankDeal::begin_dealing() {
  given_.assign(begin_.size() * world_, 0);
  for (std::size_t s = 0; s < begin_.size(); ++s)
    for (std::uint32_t rank = 0; rank < begin_[s] % world_; ++rank) given_[rank * begin_.size() + s] = 1;
}

void RankDeal::deal(std::uint64_t step, std::span<const std::uint64_t> begin, std::span<const std::uint64_t> end) {
  const std::size_t sources = begin.size();
  runs_.assign(sources, {});
  std::uint64_t even = 0;
  for (std::size_t s = 0; s < sources; ++s) even += (end[s] - begin[s]) / world_;
  std::ranges::fill(room_, static_cast<std::uint32_t>(batch_size_ - even));
  for (std::size_t i = 0; i < sources; ++i) {
    const std::size_t s = sources > 2 ? (step + i) % sources : i;
    const std::uint64_t each = (end[s] - begin[s]) / world_;
    runs_[s] = {begin[s] + rank_ * each, each};
    for (std::uint64_t left = (end[s] - begin[s]) % world_; left > 0;) {
      order_.clear();
      for (std::uint32_t rank = 0; rank < world_; ++rank)
        if (room_[rank] > 0) order_.push_back(rank);
      const auto taking = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(left, order_.size()));
      // Ranks that got the fewest leftovers of this source come first, then those with lower numbers: the order that
      // docs/order.md defines.
      const auto before = [&](std::uint32_t a, std::uint32_t b) {
        const std::uint32_t of_a = given_[a * sources + s], of_b = given_[b * sources + s];
        return of_a != of_b ? of_a < of_b : a < b;
      };
      std::partial_sort(order_.begin(), order_.begin() + taking, order_.end(), before);
      for (std::ptrdiff_t k = 0; k < taking; ++k) {
        const std::uint32_t rank = order_[static_cast<std::size_t>(k)];
        --room_[rank];
        ++given_[rank * sources + s];
        if (rank < rank_) ++runs_[s].first;
        if (rank == rank_) ++runs_[s].count;
      }
      left -= static_cast<std::uint64_t>(taking);
    }
  }
}

}  // namespace penstock
