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
  Side side_of(std::uint64_t position) const;  ///< position < length
  std::uint64_t light_length() const { return light_length_; }
  std::uint64_t light_before(std::uint64_t end) const;  ///< how many positions below `end` it has; end <= length
  std::uint64_t light_at(std::uint64_t index) const;    ///< its position of that index, below light_length()
  std::uint64_t heavy_at(std::uint64_t index) const;    ///< the other group's

 private:
  std::uint64_t interval_of(std::uint64_t position) const;
  std::uint64_t begin_of(std::uint64_t interval) const;

  std::uint64_t light_, both_, length_, key_;
  bool narrow_;
  std::uint64_t light_length_;
};

}  // namespace penstock
