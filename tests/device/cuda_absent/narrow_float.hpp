// A float32 as the nearest number of a narrower type, the even one of two: by the definition of such types.
// Source: IEEE 754-2019, 3.3 and 4.3.1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

template <int kFractionBits, int kLeastExponent>
std::uint16_t narrow_float(float value) {
  constexpr unsigned kOne = 1U << kFractionBits, kHighest = 2 - 2 * static_cast<unsigned>(kLeastExponent);
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  if (std::isnan(value)) return 0x7fff;  // as CUDA has it
  unsigned exponent = 0, fraction = 0;   // as they are stored: 0 has those below all others
  if (std::isinf(value)) {
    exponent = kHighest + 1;
  } else if (value != 0) {
    int power = std::max(std::ilogb(value), kLeastExponent);
    const double steps = std::nearbyint(std::ldexp(std::abs(static_cast<double>(value)), kFractionBits - power));
    exponent = static_cast<unsigned>(power - kLeastExponent);
    fraction = static_cast<unsigned>(steps);  // with the leading 1, which is that of the exponent; may carry on
  }
  return static_cast<std::uint16_t>(sign | std::min((exponent << kFractionBits) + fraction, (kHighest + 1) * kOne));
}
