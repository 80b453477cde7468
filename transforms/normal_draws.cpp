#include <cmath>

#include <penstock/transforms/normal_draws.hpp>

namespace penstock {

// log(m * 2^e) = e * log(2) + 2 * atanh((m - 1) / (m + 1)), with m in [sqrt(1/2), sqrt(2)): the series in the square of
// a number below 0.172 gains 1.5 digits a term.
double portable_log(double value) {
  constexpr double kLog2 = 0.693147180559945309417232121458;
  constexpr double kHalfRoot = 0.707106781186547524400844362105;
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  if (mantissa < kHalfRoot) {
    mantissa *= 2;
    --exponent;
  }
  const double ratio = (mantissa - 1) / (mantissa + 1), square = ratio * ratio;
  double series = 0;
  for (int term = 19; term >= 1; term -= 2) series = series * square + 1.0 / term;
  return exponent * kLog2 + 2 * ratio * series;
}

std::pair<double, double> draw_normals(Random& random) {
  for (;;) {
    const double u = random.uniform(-1, 1), v = random.uniform(-1, 1), square = u * u + v * v;
    if (square <= 0 || square > 1) continue;
    const double factor = std::sqrt(-2 * portable_log(square) / square);
    return {u * factor, v * factor};
  }
}

}  // namespace penstock
