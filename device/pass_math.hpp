// The arithmetic of the passes, for the processor's compiler and for nvcc: products and sums rounded each, so that
// neither may join them (-ffp-contract=off, --fmad=false).
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define PENSTOCK_BOTH __host__ __device__ inline
#else
#define PENSTOCK_BOTH inline
#endif

namespace penstock::pass_math {

struct Words {
  std::uint32_t a, b, c, d;
};

/// Philox4x32-10. Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, section 3.3.
PENSTOCK_BOTH Words philox(Words counter, std::uint64_t key) {
  std::uint32_t key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * counter.a;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * counter.c;
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter.b ^ key0, static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter.d ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

struct Point {
  float x, y, z;
};

/// Three draws of mean 0 and deviation 1 for a point. Source: Box and Muller, "A note on the generation of random
/// normal deviates", Annals of Mathematical Statistics 29(2), 1958.
PENSTOCK_BOTH Point normals(std::uint64_t seed, std::uint64_t cloud, std::uint32_t point) {
  constexpr std::uint32_t kJitter = 0x6a697474U;  // "jitt": a number of its own for these draws
  constexpr float kUnit = 1.0F / 16777216.0F;     // 2^-24
  constexpr float kTurn = 6.283185307179586F;
  const Words bits =
      philox({point, kJitter, static_cast<std::uint32_t>(cloud), static_cast<std::uint32_t>(cloud >> 32)}, seed);
  const float first = (static_cast<float>(bits.a >> 8) + 1.0F) * kUnit;  // (0, 1]
  const float second = (static_cast<float>(bits.c >> 8) + 1.0F) * kUnit;
  const float radius = sqrtf(-2.0F * logf(first)), angle = kTurn * (static_cast<float>(bits.b >> 8) * kUnit);
  const float third = sqrtf(-2.0F * logf(second)) * cosf(kTurn * (static_cast<float>(bits.d >> 8) * kUnit));
  return {radius * cosf(angle), radius * sinf(angle), third};
}

PENSTOCK_BOTH float clamped(float value, float bound) {
  return value < -bound ? -bound : value > bound ? bound : value;
}

PENSTOCK_BOTH float square_of_length(Point p) {
  return (p.x * p.x + p.y * p.y) + p.z * p.z;
}

/// `m` in row-major order.
PENSTOCK_BOTH Point turned(Point p, const float* m) {
  return {(m[0] * p.x + m[1] * p.y) + m[2] * p.z, (m[3] * p.x + m[4] * p.y) + m[5] * p.z,
          (m[6] * p.x + m[7] * p.y) + m[8] * p.z};
}

}  // namespace penstock::pass_math
