// Divides the positions of an epoch among the sources of a mixture by weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// Positions [0, length) in two groups. The lighter one has `light` of every `both`: one position of each interval
/// [i * both / light, (i + 1) * both / light), drawn among those that lie inside; and one of the last, unfinished
/// interval where more than half of it is there. The first n positions hold each group within one of its weight.
class Split {
 public:
  struct Options {
    std::uint64_t light = 1, both = 2;  ///< 0 < light <= both / 2, both <= 2^33
    std::uint64_t length = 0;           ///< at most 2^50
    std::uint64_t key = 0;
    bool narrow = false;  ///< drawn in the middle eighth of an interval alone: within 9/16 of the weight
  };
  explicit Split(const Options& options);

  /// What the lighter group has of so many positions; does not depend on any key, and grows with the length.
  static std::uint64_t light_of(std::uint64_t light, std::uint64_t both, std::uint64_t length);

  struct Side {
    bool light;
    std::uint64_t index;  ///< among the positions of its group
  };
  /// position < length. Those that follow each other take the least time, here and below.
  Side side_of(std::uint64_t position) {
    if (position < interval_.begin || position >= interval_.end) go_to(position);
    if (position == interval_.light) return {true, interval_.number};
    return {false, position - interval_.number - (interval_.light < position ? 1 : 0)};
  }
  std::uint64_t light_length() const { return light_length_; }
  std::uint64_t light_before(std::uint64_t end) const;  ///< how many positions below `end` it has; end <= length
  std::uint64_t light_at(std::uint64_t index);          ///< its position of that index, below light_length()
  std::uint64_t heavy_at(std::uint64_t index) {         ///< the other group's
    if (index < run_.begin || index >= run_.end) go_to_run(index);
    return index + run_.before;
  }

 private:
  // Positions [begin, end) of which the lighter group has one at most, its `number`th.
  struct Interval {
    std::uint64_t number = ~std::uint64_t{0}, begin = 0, end = 0, light = 0;
  };
  // Indices [begin, end) of the heavier group, between two positions of the lighter one, which has `before` before
  // them.
  struct Run {
    std::uint64_t before = 0, begin = 0, end = 0;
  };
  std::uint64_t interval_of(std::uint64_t position) const;
  std::uint64_t begin_of(std::uint64_t interval) const;
  std::uint64_t drawn_in(std::uint64_t interval, std::uint64_t begin, std::uint64_t end) const;
  void go_to(std::uint64_t position);
  void go_to_run(std::uint64_t index);
  std::uint64_t end_of_run(std::uint64_t before);

  std::uint64_t light_, both_, length_, key_;
  bool narrow_;
  std::uint64_t light_length_;
  // What was asked for last.
  Interval interval_;
  Run run_;
  std::uint64_t next_interval_ = 0, next_begin_ = 0;  // of light_at(): behind the last one
};

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
