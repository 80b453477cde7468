// A shuffled order that is computed for each position, without a list, so that any size costs the same few words.
#pragma once

#include <cstdint>
#include <span>

#include <order/permutation/permutation_rounds.hpp>

namespace penstock {

/// A keyed permutation of [0, size), computed per position in constant memory.
/// A Feistel network over the next power of four (at least 64, so that the smallest sizes are mixed as well as large
/// ones), cycle-walked into range. The order is part of a loader's promise: it never changes between versions.
/// Source: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002.
class Permutation {
 public:
  /// `stream` tells apart the permutations that one epoch needs (see Plan, block shuffle).
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch, std::uint64_t stream = 0);
  std::uint64_t operator()(std::uint64_t position) const;  ///< position < size
  /// Those of positions `first` and on, below size: the same, several times as fast.
  void list(std::uint64_t first, std::span<std::uint64_t> out) const;
  std::uint64_t position_of(std::uint64_t value) const;  ///< the inverse; value < size

 private:
  std::uint64_t through(std::uint64_t value) const;

  std::uint64_t size_;
  FeistelNetwork network_;
};

}  // namespace penstock
