#include <algorithm>

#include <penstock/loader/permutation.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

// splitmix64's finalizer: every input bit reaches every output bit. Source: Steele, Lea and Flood, OOPSLA 2014.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch, std::uint64_t stream)
    : size_(size), mask_(0), half_bits_(3), keys_{} {
  while (half_bits_ < 32 && ((size - 1) >> (2 * half_bits_)) != 0 && size > 1) ++half_bits_;
  mask_ = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t state = mix(seed + kGolden);
  state = mix((state ^ epoch) + kGolden);
  state = mix((state ^ stream) + kGolden);
  for (std::uint64_t& key : keys_) key = mix(state += kGolden);
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  std::uint64_t value = position;
  do {
    value = through(value);
  } while (value >=
           size_);  // ends: the network permutes its domain, so the walk comes back to `position` at the latest
  return value;
}

// Once through the network.
std::uint64_t Permutation::through(std::uint64_t value) const {
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask_;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mix(right + key) & mask_);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

// The network is a chain of multiplications: walks side by side, in a loop without a branch to guess, hide its latency.
void Permutation::list(std::uint64_t first, std::span<std::uint64_t> out) const {
  constexpr std::size_t kSide = 64;
  std::array<std::uint64_t, kSide> values;
  std::array<std::uint32_t, kSide> places;
  for (std::size_t done = 0; done < out.size(); done += kSide) {
    const std::span<std::uint64_t> part = out.subspan(done, std::min(kSide, out.size() - done));
    std::size_t walking = part.size();
    for (std::uint32_t i = 0; i < walking; ++i) {
      values[i] = first + done + i;
      places[i] = i;
    }
    while (walking != 0) {
      std::size_t left = 0;
      for (std::size_t i = 0; i < walking; ++i) {
        const std::uint64_t value = through(values[i]);
        const std::uint32_t place = places[i];
        part[place] = value;
        values[left] = value;
        places[left] = place;
        left += value >= size_ ? 1U : 0U;
      }
      walking = left;
    }
  }
}

std::uint64_t Permutation::position_of(std::uint64_t value) const {
  std::uint64_t position = value;
  do {
    std::uint64_t left = position >> half_bits_;
    std::uint64_t right = position & mask_;
    for (auto key = keys_.rbegin(); key != keys_.rend(); ++key) {
      const std::uint64_t previous = right ^ (mix(left + *key) & mask_);
      right = left;
      left = previous;
    }
    position = (left << half_bits_) | right;
  } while (position >= size_);
  return position;
}

}  // namespace penstock
