// Divides positions between two groups by weight, at positions drawn by a key, computed for each position.
#pragma once

#include <cstdint>

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

}  // namespace penstock
