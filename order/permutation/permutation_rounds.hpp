// Computes the rounds of Permutation's network for many values side by side.
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

/// splitmix64's finalizer: every input bit reaches every output bit. Source: Steele, Lea and Flood, OOPSLA 2014.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * kMixFirst;
  x = (x ^ (x >> 27)) * kMixSecond;
  return x ^ (x >> 31);
}

/// The step of SplitMix64's sequence, whose values mix() makes of it.
inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

/// What the draws of an order are keyed by; `stream` tells those of one epoch apart. docs/order.md calls it key().
inline std::uint64_t order_key(std::uint64_t seed, std::uint64_t epoch, std::uint64_t stream) {
  std::uint64_t state = mix(seed + kGolden);
  state = mix((state ^ epoch) + kGolden);
  return mix((state ^ stream) + kGolden);
}

/// How many values pass at a time at most, in every SIMD level: lists are padded to a multiple of it.
inline constexpr std::size_t kRoundLanes = 8;

/// Each value once through all rounds. Their number is a multiple of kRoundLanes.
void run_rounds(const FeistelNetwork& network, std::span<std::uint64_t> values);

}  // namespace penstock
