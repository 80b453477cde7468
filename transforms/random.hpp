// Counter-based randomness: the draws of a transform depend on (seed, epoch, sample, transform) and on nothing else.
#pragma once

#include <array>
#include <cstdint>

namespace penstock {

/// Philox4x32-10. Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
/// One generator yields the same sequence on every machine, whatever thread calls it.
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
