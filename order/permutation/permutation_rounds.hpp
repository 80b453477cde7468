// Computes the rounds of Permutation's network for many values in parallel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// A Feistel network over numbers of 2 * half_bits bits: each round exchanges the halves and mixes one into the other.
struct FeistelNetwork {
  unsigned half_bits;
  std::array<std::uint64_t, 6> keys;

  std::uint64_t mask() const { return (std::uint64_t{1} << half_bits) - 1; }
};

inline constexpr std::uint64_t kMixFirst = 0xbf58476d1ce4e5b9, kMixSecond = 0x94d049bb133111eb;

/// The finalizer of SplitMix64: every input bit affects every output bit. Source: Steele, Lea and Flood, OOPSLA 2014.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * kMixFirst;
  x = (x ^ (x >> 27)) * kMixSecond;
  return x ^ (x >> 31);
}

/// The step of SplitMix64's sequence; mix() turns its elements into random numbers.
inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

/// The key of an order's draws. `stream` distinguishes the draws of one epoch. docs/order.md calls it key().
inline std::uint64_t order_key(std::uint64_t seed, std::uint64_t epoch, std::uint64_t stream) {
  std::uint64_t state = mix(seed + kGolden);
  state = mix((state ^ epoch) + kGolden);
  return mix((state ^ stream) + kGolden);
}

/// Maximum number of values per SIMD vector, over all SIMD levels. Lists are padded to a multiple of it.
inline constexpr std::size_t kRoundLanes = 8;

/// Runs each value through all rounds once. The number of values must be a multiple of kRoundLanes.
void run_rounds(const FeistelNetwork& network, std::span<std::uint64_t> values);

}  // namespace penstock
