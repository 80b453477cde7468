// Draws the source of each position of a mixture at random, such that each block contains each source's share.
#pragma once

#include <cstdint>
#include <vector>

#include <order/mixture/shares.hpp>

namespace penstock {

/// A block of kDrawnBlock positions contains a fixed number of positions of each source: ShareTree::counts_of of the
/// block's end minus that of its beginning. Their order is random. Within a block, a source's indices do not rise with
/// the positions. This is harmless because each pass over a source is shuffled.
class DrawnShares {
 public:
  static constexpr std::uint64_t kDrawnBlock = 4096;

  /// The tree must outlive this object.
  DrawnShares(const ShareTree& tree, std::uint64_t length, std::uint64_t seed, std::uint64_t epoch);

  SharePlace at(std::uint64_t position);  ///< position < length
  std::vector<std::uint64_t> counts_before(std::uint64_t end);

 private:
  void go_to(std::uint64_t block);

  const ShareTree* tree_;
  std::uint64_t length_, seed_, epoch_;
  std::uint64_t block_ = ~std::uint64_t{0};  // the block that the members below describe
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> begin_, end_;  // of each source, before and after the block
};

}  // namespace penstock
