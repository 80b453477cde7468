#include <algorithm>

#include <order/mixture/drawn_shares.hpp>
#include <order/permutation/permutation.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kDrawnStream = std::uint64_t{0x647261776e} << 24;  // "drawn", then the number of the block

}  // namespace

DrawnShares::DrawnShares(const ShareTree& tree, std::uint64_t length, std::uint64_t seed, std::uint64_t epoch)
    : tree_(&tree), length_(length), seed_(seed), epoch_(epoch) {}

void DrawnShares::go_to(std::uint64_t block) {
  if (block == block_) return;
  const std::uint64_t first = block * kDrawnBlock;
  size_ = std::min(kDrawnBlock, length_ - first);
  begin_ = tree_->counts_of(first);
  end_ = tree_->counts_of(first + size_);
  block_ = block;
}

SharePlace DrawnShares::at(std::uint64_t position) {
  go_to(position / kDrawnBlock);
  std::uint64_t drawn = Permutation(size_, seed_, epoch_, kDrawnStream + block_)(position % kDrawnBlock);
  for (std::uint32_t source = 0;; ++source) {
    const std::uint64_t own = end_[source] - begin_[source];
    if (drawn < own) return {source, begin_[source] + drawn};
    drawn -= own;
  }
}

std::vector<std::uint64_t> DrawnShares::counts_before(std::uint64_t end) {
  const std::uint64_t first = end - end % kDrawnBlock;
  std::vector<std::uint64_t> counts = tree_->counts_of(first);
  for (std::uint64_t position = first; position < end; ++position) ++counts[at(position).source];
  return counts;
}

}  // namespace penstock
