// Divides the positions of an epoch among the sources of a mixture by weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// Divides positions [0, length) into two groups. The lighter group has `light` of every `both` positions: one position
/// drawn from each interval [i * both / light, (i + 1) * both / light), and one in the last, unfinished interval if
/// more than half of it is there.
///
/// Invariant: among the first n positions, the size of each group is within one of its weight.
class Split {
 public:
  struct Options {
    std::uint64_t light = 1, both = 2;  ///< 0 < light <= both / 2, both <= 2^33
    std::uint64_t length = 0;           ///< at most 2^50
    std::uint64_t key = 0;
    bool narrow = false;  ///< draws only in the middle eighth of an interval: the size is within 9/16 of the weight
  };
  explicit Split(const Options& options);

  /// Number of positions of the lighter group among `length`. Independent of the key, and never decreases as the length
  /// grows.
  static std::uint64_t light_of(std::uint64_t light, std::uint64_t both, std::uint64_t length);

  struct Side {
    bool light;
    std::uint64_t index;  ///< among the positions of its group
  };
  /// position < length. Consecutive positions are the fastest, here and below.
  Side side_of(std::uint64_t position) {
    if (position < interval_.begin || position >= interval_.end) go_to(position);
    if (position == interval_.light) return {true, interval_.number};
    return {false, position - interval_.number - (interval_.light < position ? 1 : 0)};
  }
  std::uint64_t light_length() const { return light_length_; }
  std::uint64_t light_before(std::uint64_t end) const;  ///< number of its positions below `end`; end <= length
  std::uint64_t light_at(std::uint64_t index);          ///< its position number `index`, below light_length()
  std::uint64_t heavy_at(std::uint64_t index) {         ///< the same for the heavier group
    if (index < run_.begin || index >= run_.end) go_to_run(index);
    return index + run_.before;
  }

 private:
  // The positions [begin, end), which contain at most one position of the lighter group, its `number`-th.
  struct Interval {
    std::uint64_t number = ~std::uint64_t{0}, begin = 0, end = 0, light = 0;
  };
  // The indices [begin, end) of the heavier group between two positions of the lighter one. `before` positions of the
  // lighter group come earlier.
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
  // Results of the last calls. With them, consecutive positions need fewer divisions.
  Interval interval_;
  Run run_;
  std::uint64_t next_interval_ = 0, next_begin_ = 0;  // of light_at(): after the last call
};

/// Position number `index` of those that `source` has in an epoch.
struct SharePlace {
  std::uint32_t source = 0;
  std::uint64_t index = 0;
  friend bool operator==(const SharePlace&, const SharePlace&) = default;
};

/// A tree whose leaves are the sources. The two lightest nodes are joined, the earlier ones first among equals, until
/// one is left, as in Huffman's code. Sources of weight 0 are not in the tree.
class ShareTree {
 public:
  struct Node {
    std::uint32_t lighter, heavier;  ///< numbers of sources or, after those, of nodes
    std::uint64_t light, both;       ///< weight of the lighter child, and of both
    bool narrow = false;             ///< otherwise a source below it could be off by more than two
  };

  /// One weight per source, not all 0; their sum is at most 2^33.
  explicit ShareTree(std::span<const std::uint64_t> weights);

  std::uint32_t sources() const { return sources_; }
  std::uint32_t root() const { return root_; }  ///< a source, if no other one has a weight
  /// node i has the number sources() + i; nodes follow their children
  std::span<const Node> nodes() const { return nodes_; }
  /// The number of positions of each source in an epoch of `length` positions. The same for every key, and no number
  /// decreases as the length grows.
  std::vector<std::uint64_t> counts_of(std::uint64_t length) const;

 private:
  void narrow_where_deep(std::span<const std::uint64_t> weights);

  std::uint32_t sources_;
  std::uint32_t root_;
  std::vector<Node> nodes_;
};

/// One epoch's positions, each assigned to a source by walking down the tree. Among the first n positions, each of two
/// sources is within one of its weight, and each of more sources within two. Used by one thread at a time. Consecutive
/// positions are the fastest.
class Shares {
 public:
  /// The tree must outlive this object. length <= 2^50.
  Shares(const ShareTree& tree, std::uint64_t length, std::uint64_t seed, std::uint64_t epoch);

  SharePlace at(std::uint64_t position);                                 ///< position < length
  std::uint64_t position_of(std::uint32_t source, std::uint64_t index);  ///< the inverse
  std::vector<std::uint64_t> counts_before(std::uint64_t end) const;     ///< by source; end <= length

 private:
  struct Parent {
    std::uint32_t node = 0;  // the node above a source or node; none for the root
    bool lighter = false;
  };
  const ShareTree* tree_;
  std::vector<Split> splits_;  // by node
  std::vector<Parent> parents_;
};

}  // namespace penstock
