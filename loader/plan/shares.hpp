// Divides the positions of an epoch among the sources of a mixture by weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <penstock/loader/plan/split.hpp>

namespace penstock {

/// The `index`th of those positions of an epoch that `source` has.
struct SharePlace {
  std::uint32_t source = 0;
  std::uint64_t index = 0;
  friend bool operator==(const SharePlace&, const SharePlace&) = default;
};

/// A tree whose leaves are the sources: the two lightest (of equal ones those that came first) are joined until there
/// is one, as in Huffman's code. Sources of weight 0 are not in it.
class ShareTree {
 public:
  struct Node {
    std::uint32_t lighter, heavier;  ///< numbers of sources, or, behind those, of nodes
    std::uint64_t light, both;       ///< weights of the lighter one and of both
    bool narrow = false;             ///< a source below it would be off by more than two otherwise
  };

  /// A weight for each source, not all 0; their sum is at most 2^33.
  explicit ShareTree(std::span<const std::uint64_t> weights);

  std::uint32_t sources() const { return sources_; }
  std::uint32_t root() const { return root_; }            ///< a source, where no other has a weight
  std::span<const Node> nodes() const { return nodes_; }  ///< node i is number sources() + i, behind its children
  /// How many of an epoch of so many positions each source has: the same for every key, and none shrinks where the
  /// length grows.
  std::vector<std::uint64_t> counts_of(std::uint64_t length) const;

 private:
  void narrow_where_deep(std::span<const std::uint64_t> weights);

  std::uint32_t sources_;
  std::uint32_t root_;
  std::vector<Node> nodes_;
};

/// One epoch's positions, each split down the tree to a source. The first n hold each of two sources within one of its
/// weight, each of more within two. Used by one thread at a time; positions that follow each other take the least time.
class Shares {
 public:
  /// The tree must live as long. length <= 2^50.
  Shares(const ShareTree& tree, std::uint64_t length, std::uint64_t seed, std::uint64_t epoch);

  SharePlace at(std::uint64_t position);                                 ///< position < length
  std::uint64_t position_of(std::uint32_t source, std::uint64_t index);  ///< the inverse
  std::vector<std::uint64_t> counts_before(std::uint64_t end) const;     ///< of each source; end <= length

 private:
  struct Parent {
    std::uint32_t node = 0;  // above a source or node; of the root, nothing
    bool lighter = false;
  };
  const ShareTree* tree_;
  std::vector<Split> splits_;  // of each node
  std::vector<Parent> parents_;
};

}  // namespace penstock
