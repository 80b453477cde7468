// The SIMD targets of Highway that kernels use.
#pragma once

#include <string>

namespace penstock {

/// The level of the kernels: "avx512", "avx2", "sse4", "ssse3", "neon", "scalar"; or "avx2 (limited by PENSTOCK_SIMD)".
std::string simd_text();

/// Throws Error: invalid_argument, if the value of PENSTOCK_SIMD is not the name of a level.
void require_known_simd_limit();

}  // namespace penstock
