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
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask_;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (mix(right + key) & mask_);
      left = right;
      right = next;
    }
    value = (left << half_bits_) | right;
  } while (value >=
           size_);  // ends: the network permutes its domain, so the walk comes back to `position` at the latest
  return value;
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
