// Draws the source of each position of a mixture by chance, so that its blocks have each source's share.
#pragma once

#include <cstdint>
#include <vector>

#include <order/mixture/shares.hpp>

namespace penstock {

/// Within each block of kDrawnBlock positions, what each source has of it (ShareTree::counts_of of the block's end less
/// that of its beginning) stands in random order. A source's indices are as its positions follow each other within a
/// block only up to chance: they come from a shuffled order anyway.
class DrawnShares {
 public:
  static constexpr std::uint64_t kDrawnBlock = 4096;

  /// The tree must live as long.
  DrawnShares(const ShareTree& tree, std::uint64_t length, std::uint64_t seed, std::uint64_t epoch);

  SharePlace at(std::uint64_t position);  ///< position < length
  std::vector<std::uint64_t> counts_before(std::uint64_t end);

 private:
  void go_to(std::uint64_t block);

  const ShareTree* tree_;
  std::uint64_t length_, seed_, epoch_;
  std::uint64_t block_ = ~std::uint64_t{0};  // the one that follows is of
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> begin_, end_;  // of each source, before and behind it
};

}  // namespace penstock
