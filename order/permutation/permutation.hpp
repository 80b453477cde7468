// A shuffled order that is computed for each position without a list, so it takes a few words of memory for any size.
#pragma once

#include <cstdint>
#include <span>

#include <order/permutation/permutation_rounds.hpp>

namespace penstock {

/// A keyed permutation of [0, size), computed per position in constant memory.
///
/// Uses a Feistel network of six rounds over the next power of four, and walks its cycles until a value is in range.
/// The domain is at least 64, because six rounds mix a smaller one less evenly. A larger domain is less than four times
/// the size, so a walk runs the network fewer than four times on average. The order is part of a loader's promise: it
/// never changes between versions. docs/order.md defines it. Source: Black and Rogaway, "Ciphers with Arbitrary Finite
/// Domains", CT-RSA 2002.
class Permutation {
 public:
  /// `stream` distinguishes the permutations of one epoch (see Plan and the block shuffle).
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch, std::uint64_t stream = 0);
  std::uint64_t operator()(std::uint64_t position) const;  ///< position < size
  /// The values of positions `first` and later, below size: the same values, several times as fast.
  void list(std::uint64_t first, std::span<std::uint64_t> out) const;
  std::uint64_t position_of(std::uint64_t value) const;  ///< the inverse; value < size

 private:
  std::uint64_t through(std::uint64_t value) const;

  std::uint64_t size_;
  FeistelNetwork network_;
};

}  // namespace penstock
