// Generates noise with the spectrum of photographs: large periodic planes, made once and cut into many images.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

/// A square plane of values with mean 0 and variance 1 that repeats in both directions; the side is a power of two.
struct Plane {
  std::uint32_t side = 0;
  std::vector<float> values;
  float at(std::uint32_t x, std::uint32_t y) const {
    return values[std::size_t{y & (side - 1)} * side + (x & (side - 1))];
  }
};

/// Two independent planes whose amplitude falls with frequency as 1 / f^exponent: 1 is what photographs have, 0 is
/// white noise. Source: Field, "Relations between the statistics of natural images and the response properties of
/// cortical cells", JOSA A 4 (1987).
std::array<Plane, 2> noise_planes(std::uint32_t side, double exponent, std::uint64_t seed, std::uint32_t stream);

}  // namespace penstock
