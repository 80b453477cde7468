#pragma once

#include "narrow_float.hpp"

struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return {narrow_float<7, -126>(value)};
}
