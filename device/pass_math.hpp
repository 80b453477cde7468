// The arithmetic of the passes, for the host compiler and for nvcc. Products and sums are rounded separately, so
// neither compiler may fuse them (-ffp-contract=off, --fmad=false). Only functions of libm with exact or correctly
// rounded results are used. Draws equal those of chains on the host, bit by bit; penstock/random.hpp and
// transforms/normal_draws.hpp describe them.
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

/// The finalizer of SplitMix64. Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014 (variant 13 of Stafford).
PENSTOCK_BOTH std::uint64_t mixed(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

PENSTOCK_BOTH std::uint64_t draws_key(std::uint64_t seed, std::uint64_t epoch) {
  return mixed(mixed(seed) + epoch);
}

/// The draws of a step for a sample, starting at a block of the counter. Each block gives two draws.
struct Draws {
  std::uint64_t key, sample;
  std::uint32_t transform, block;
  std::uint64_t second;  // of the block, if it is not used yet
  bool left;

  PENSTOCK_BOTH Draws(std::uint64_t of_key, std::uint64_t of_sample, std::uint32_t of_transform, std::uint32_t first)
      : key(of_key), sample(of_sample), transform(of_transform), block(first), second(0), left(false) {}

  PENSTOCK_BOTH std::uint64_t next() {
    if (left) {
      left = false;
      return second;
    }
    const Words words =
        philox({block++, transform, static_cast<std::uint32_t>(sample), static_cast<std::uint32_t>(sample >> 32)}, key);
    second = words.c | static_cast<std::uint64_t>(words.d) << 32;
    left = true;
    return words.a | static_cast<std::uint64_t>(words.b) << 32;
  }
  /// Returns a number in [low, high).
  PENSTOCK_BOTH double uniform(double low, double high) {
    constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
    const double value = low + (high - low) * (static_cast<double>(next() >> 11) * kUnit);
    return value < high ? value : nextafter(high, low);
  }
};

/// A point in the square around the unit disc, and its squared distance from the center. Valid only if inside().
struct DiscDraw {
  double u, v, square;
  PENSTOCK_BOTH bool inside() const { return square > 0 && square <= 1; }
};

PENSTOCK_BOTH DiscDraw draw_square(Draws& draws) {
  const double u = draws.uniform(-1, 1), v = draws.uniform(-1, 1);
  return {u, v, u * u + v * v};
}

PENSTOCK_BOTH DiscDraw draw_disc(Draws& draws) {
  DiscDraw draw = draw_square(draws);
  while (!draw.inside()) draw = draw_square(draws);
  return draw;
}

/// log(m * 2^e) = e * log(2) + 2 * atanh((m - 1) / (m + 1)), with m in [sqrt(1/2), sqrt(2)), for a number in (0, 1].
PENSTOCK_BOTH double portable_log(double value) {
  constexpr double kLog2 = 0.693147180559945309417232121458;
  constexpr double kHalfRoot = 0.707106781186547524400844362105;
  int exponent = 0;
  double mantissa = frexp(value, &exponent);
  if (mantissa < kHalfRoot) {
    mantissa *= 2;
    --exponent;
  }
  const double ratio = (mantissa - 1) / (mantissa + 1), square = ratio * ratio;
  double series = 0;
  for (int term = 19; term >= 1; term -= 2) series = series * square + 1.0 / term;
  return exponent * kLog2 + 2 * ratio * series;
}

/// Two normal draws are u and v of a draw inside the disc, multiplied by this factor. Source: Marsaglia and Bray, "A
/// convenient method for generating normal variables", SIAM Review 6(3), 1964.
PENSTOCK_BOTH double normal_factor(const DiscDraw& draw) {
  return sqrt(-2 * portable_log(draw.square) / draw.square);
}

PENSTOCK_BOTH float clamped(float value, float bound) {
  return value < -bound ? -bound : bound < value ? bound : value;
}

struct Matrix {
  float m[9];  // row by row
};

/// Source: von Neumann, "Various techniques used in connection with random digits", 1951.
PENSTOCK_BOTH Matrix rotation_about_z(Draws& draws) {
  const DiscDraw d = draw_disc(draws);
  const auto cosine = static_cast<float>((d.u * d.u - d.v * d.v) / d.square);
  const auto sine = static_cast<float>(2 * d.u * d.v / d.square);
  return {{cosine, -sine, 0, sine, cosine, 0, 0, 0, 1}};
}

/// Source: Marsaglia, "Choosing a point from the surface of a sphere", 1972.
PENSTOCK_BOTH Matrix rotation_of_any_kind(Draws& draws) {
  const DiscDraw first = draw_disc(draws), second = draw_disc(draws);
  const double w = first.u, x = first.v;
  const double length = sqrt((1 - first.square) / second.square);
  const double y = second.u * length, z = second.v * length;
  return {{static_cast<float>(1 - 2 * (y * y + z * z)), static_cast<float>(2 * (x * y - w * z)),
           static_cast<float>(2 * (x * z + w * y)), static_cast<float>(2 * (x * y + w * z)),
           static_cast<float>(1 - 2 * (x * x + z * z)), static_cast<float>(2 * (y * z - w * x)),
           static_cast<float>(2 * (x * z - w * y)), static_cast<float>(2 * (y * z + w * x)),
           static_cast<float>(1 - 2 * (x * x + y * y))}};
}

PENSTOCK_BOTH void turn(float* p, const float* m) {
  const float x = p[0], y = p[1], z = p[2];
  p[0] = (m[0] * x + m[1] * y) + m[2] * z;
  p[1] = (m[3] * x + m[4] * y) + m[5] * z;
  p[2] = (m[6] * x + m[7] * y) + m[8] * z;
}

PENSTOCK_BOTH float square_of_length(const float* p) {
  return (p[0] * p[0] + p[1] * p[1]) + p[2] * p[2];
}

}  // namespace penstock::pass_math
