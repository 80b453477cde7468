// Counter-based randomness: the draws of a transform depend only on (seed, epoch, sample, occurrence, transform).
#pragma once

#include <array>
#include <cstdint>

namespace penstock {

/// One block of Philox4x32-10: 128 random bits from a counter and a key.
/// Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, section 3.3.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// The number that keys the draws of a sample. A sample that an epoch delivers several times has an occurrence, 0, 1,
/// 2, ..., for each delivery, and each has draws of its own. For the first one, the number is the sample number.
constexpr std::uint64_t draw_number(std::uint64_t sample, std::uint32_t occurrence) {
  return sample + (std::uint64_t{occurrence} << 40);
}

/// A generator that yields the same sequence on every machine and in every thread.
///
///   key      = mix(mix(seed) + epoch), mix being the finalizer of SplitMix64; low word first
///   counter  = {block, transform, low word of sample, high word of sample}, block = 0, 1, 2, ...
///
/// next() uses the words of a block in order, two at a time, low word first.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample, std::uint32_t transform);
  std::uint64_t next();                      ///< 64 uniform bits
  double uniform();                          ///< [0, 1), 53 bits
  double uniform(double low, double high);   ///< [low, high)
  std::uint64_t below(std::uint64_t bound);  ///< 0 <= result < bound, unbiased; bound > 0
 private:
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4;
};

}  // namespace penstock
