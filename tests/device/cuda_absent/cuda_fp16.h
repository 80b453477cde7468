#pragma once

#include "narrow_float.hpp"

struct __half {
  std::uint16_t bits;
};

inline __half __float2half_rn(float value) {
  return {narrow_float<10, -14>(value)};
}
