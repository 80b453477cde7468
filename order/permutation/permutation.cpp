#include <algorithm>
#include <array>

#include <order/permutation/permutation.hpp>

namespace penstock {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch, std::uint64_t stream)
    : size_(size), network_{.half_bits = 3, .keys = {}} {
  unsigned& half_bits = network_.half_bits;
  while (half_bits < 32 && ((size - 1) >> (2 * half_bits)) != 0 && size > 1) ++half_bits;
  std::uint64_t state = order_key(seed, epoch, stream);
  for (std::uint64_t& key : network_.keys) key = mix(state += kGolden);
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  std::uint64_t value = position;
  // The walk ends: the network permutes its domain, so the walk returns to `position` at the latest.
  do {
    value = through(value);
  } while (value >= size_);
  return value;
}

// Runs the network once.
std::uint64_t Permutation::through(std::uint64_t value) const {
  const std::uint64_t mask = network_.mask();
  std::uint64_t left = value >> network_.half_bits;
  std::uint64_t right = value & mask;
  for (const std::uint64_t key : network_.keys) {
    const std::uint64_t next = left ^ (mix(right + key) & mask);
    left = right;
    right = next;
  }
  return (left << network_.half_bits) | right;
}

// The rounds of one value are a chain of dependent multiplications. Walking many values side by side hides its latency.
// Values that have come into range leave the walk.
void Permutation::list(std::uint64_t first, std::span<std::uint64_t> out) const {
  constexpr std::size_t kSide = 128;
  static_assert(kSide % kRoundLanes == 0);
  std::array<std::uint64_t, kSide> values{};
  std::array<std::uint32_t, kSide> places;
  for (std::size_t done = 0; done < out.size(); done += kSide) {
    const std::span<std::uint64_t> part = out.subspan(done, std::min(kSide, out.size() - done));
    std::size_t walking = part.size();
    for (std::uint32_t i = 0; i < walking; ++i) {
      values[i] = first + done + i;
      places[i] = i;
    }
    while (walking != 0) {
      // Values beyond `walking` only fill up the last SIMD vector. Their results are not used.
      run_rounds(network_, std::span(values).first((walking + kRoundLanes - 1) / kRoundLanes * kRoundLanes));
      std::size_t left = 0;
      for (std::size_t i = 0; i < walking; ++i) {
        const std::uint64_t value = values[i];
        const std::uint32_t place = places[i];
        part[place] = value;
        // Keeps the values that are still outside, without a branch, which would be mispredicted often.
        values[left] = value;
        places[left] = place;
        left += value >= size_ ? 1U : 0U;
      }
      walking = left;
    }
  }
}

// Runs the rounds backwards. The cycle is walked in the other direction, so the walk ends at the only position below
// size_ that leads to `value`.
std::uint64_t Permutation::position_of(std::uint64_t value) const {
  std::uint64_t position = value;
  do {
    std::uint64_t left = position >> network_.half_bits;
    std::uint64_t right = position & network_.mask();
    for (auto key = network_.keys.rbegin(); key != network_.keys.rend(); ++key) {
      const std::uint64_t previous = right ^ (mix(left + *key) & network_.mask());
      right = left;
      left = previous;
    }
    position = (left << network_.half_bits) | right;
  } while (position >= size_);
  return position;
}

}  // namespace penstock
