#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <base/numbers/portable_math.hpp>

namespace penstock::portable {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The number high + low, where |low| is at most half a unit in the last place of high: 106 bits.
struct Twofold {
  double high = 0, low = 0;

  static constexpr Twofold of_sum(double a, double b) {  // exact
    const double sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
  }

  static constexpr Twofold of_product(double a, double b) {  // exact
    constexpr auto halves = [](double value) {
      const double shifted = value * 134217729.0;  // 2^27 + 1
      const double high = shifted - (shifted - value);
      return std::pair(high, value - high);
    };
    const auto [a_high, a_low] = halves(a);
    const auto [b_high, b_low] = halves(b);
    const double product = a * b;
    return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
  }

  constexpr Twofold operator-() const { return {-high, -low}; }

  friend constexpr Twofold operator+(Twofold a, Twofold b) {
    const Twofold sum = of_sum(a.high, b.high), rest = of_sum(a.low, b.low);
    const Twofold most = of_sum(sum.high, sum.low + rest.high);
    return of_sum(most.high, most.low + rest.low);
  }
  friend constexpr Twofold operator-(Twofold a, Twofold b) { return a + -b; }

  friend constexpr Twofold operator*(Twofold a, Twofold b) {
    const Twofold product = of_product(a.high, b.high);
    return of_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
  }
  constexpr Twofold times_power_of_two(double power) const { return {high * power, low * power}; }

  friend constexpr Twofold operator/(Twofold a, Twofold b) {
    const double first = a.high / b.high;
    Twofold rest = a - b * Twofold{first};
    const double second = rest.high / b.high;
    rest = rest - b * Twofold{second};
    const Twofold quotient = of_sum(first, second);
    return quotient + Twofold{rest.high / b.high};
  }

  constexpr double rounded() const { return high + low; }
};

/// pi / 2 and log(2) as sums of three doubles, so that subtracting a multiple of them keeps all digits.
struct Threefold {
  double first, second, third;
};
constexpr Threefold kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
constexpr Threefold kLog2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111};

constexpr Twofold without(double x, double times, const Threefold& unit) {
  const Twofold most = Twofold{x} - Twofold::of_product(times, unit.first);
  return most - Twofold::of_product(times, unit.second) - Twofold::of_product(times, unit.third);
}

/// 1 / 0!, 1 / 1!, 1 / 2!, ...
constexpr auto kInverseFactorials = [] {
  std::array<Twofold, 29> inverse{};
  inverse[0] = {1};
  for (std::size_t n = 1; n < inverse.size(); ++n) inverse[n] = inverse[n - 1] / Twofold{static_cast<double>(n)};
  return inverse;
}();

/// exp(x) as 2^exponent times a number near 1, for |x| < 1100.
struct Exponential {
  Twofold mantissa;
  int exponent;
};

Exponential exponential(double x) {
  const double times = std::nearbyint(x / kLog2.first);
  const Twofold part = without(x, times, kLog2).times_power_of_two(1.0 / 256);  // below 0.0014: 9 terms suffice
  double last = kInverseFactorials[9].high;  // of the last terms only the first 50 bits matter
  for (std::size_t n = 8; n >= 6; --n) last = last * part.high + kInverseFactorials[n].high;
  Twofold less_one{last};
  for (std::size_t n = 5; n >= 1; --n) less_one = less_one * part + kInverseFactorials[n];
  less_one = less_one * part;
  // (1 + e)^2 = 1 + (2 * e + e * e). The 1 is left out, because adding it would lose digits of e.
  for (int squaring = 0; squaring < 8; ++squaring) less_one = less_one.times_power_of_two(2) + less_one * less_one;
  return {less_one + Twofold{1}, static_cast<int>(times)};
}

struct SineCosine {
  Twofold sine, cosine;
};

SineCosine sine_cosine(double x) {
  const double quarters = std::nearbyint(x / kHalfPi.first);
  const Twofold part = without(x, quarters, kHalfPi), square = -(part * part);
  double sine_last = kInverseFactorials[27].high, cosine_last = kInverseFactorials[28].high;
  for (std::size_t n = 27; n >= 19; n -= 2) {
    sine_last = sine_last * square.high + kInverseFactorials[n - 2].high;
    cosine_last = cosine_last * square.high + kInverseFactorials[n - 1].high;
  }
  Twofold sine{sine_last}, cosine{cosine_last};
  for (std::size_t n = 17; n >= 3; n -= 2) {
    sine = sine * square + kInverseFactorials[n - 2];
    cosine = cosine * square + kInverseFactorials[n - 1];
  }
  sine = sine * part;
  cosine = cosine * square + kInverseFactorials[0];
  switch (static_cast<long long>(quarters) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

/// x = mantissa * 2^exponent, with the mantissa in [sqrt(1/2), sqrt(2)).
struct Split {
  double mantissa;
  int exponent;
};

Split split(double x) {
  constexpr double kHalfRoot = 0.707106781186547524400844362105;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  if (mantissa < kHalfRoot) return {mantissa * 2, exponent - 1};
  return {mantissa, exponent};
}

/// 2 * atanh((m - 1) / (m + 1)): the series in the square of a number below 0.172 gains 1.5 digits per term.
double log_of_mantissa(double mantissa) {
  const double ratio = (mantissa - 1) / (mantissa + 1), square = ratio * ratio;
  double series = 0;
  for (int term = 19; term >= 1; term -= 2) series = series * square + 1.0 / term;
  return 2 * ratio * series;
}

bool is_angle(double x) {
  return x >= -1e6 && x <= 1e6;
}

}  // namespace

double exp(double x) {
  if (x != x) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  const Exponential result = exponential(x);
  // In two steps, because 2^1024 is not a double. The second one rounds if the result is subnormal.
  const int half = result.exponent / 2;
  return std::ldexp(std::ldexp(result.mantissa.rounded(), half), result.exponent - half);
}

// Newton's step from the logarithm y of a series: y + 2 * (x - e^y) / (x + e^y) triples the number of digits.
double log(double x) {
  if (x != x || x == kInfinity) return x;
  if (x == 0) return -kInfinity;
  if (x < 0) return kNaN;
  const auto [mantissa, exponent] = split(x);
  const double start = log_of_mantissa(mantissa);
  const Exponential back = exponential(start);
  const Twofold there = back.mantissa.times_power_of_two(std::ldexp(1.0, back.exponent));
  const Twofold step = (Twofold{mantissa} - there) / (Twofold{mantissa} + there);
  const Twofold of_mantissa = Twofold{start} + step.times_power_of_two(2);
  const double times = exponent;
  return (Twofold::of_product(times, kLog2.first) + (Twofold::of_product(times, kLog2.second) + of_mantissa)).rounded();
}

double quick_log(double x) {
  const auto [mantissa, exponent] = split(x);
  return exponent * kLog2.first + log_of_mantissa(mantissa);
}

// atan(x) = y + atan((x - tan y) / (1 + x * tan y)). Two terms of the series for the second summand give five times the
// digits.
double atan(double x) {
  if (x != x || x == 0) return x;
  const double size = x < 0 ? -x : x;
  const bool is_steep = size > 1;
  const Twofold slope = size == kInfinity ? Twofold{} : is_steep ? Twofold{1} / Twofold{size} : Twofold{size};
  double start = slope.high / (1 + 0.28 * slope.high * slope.high);
  Twofold angle{start};
  for (int round = 0; round < 2; ++round) {
    const auto [sine, cosine] = sine_cosine(start);
    const Twofold rest = (slope * cosine - sine) / (cosine + slope * sine);
    angle = Twofold{start} + rest - rest * rest * rest * (Twofold{1} / Twofold{3});
    start = angle.high;
  }
  if (is_steep) angle = Twofold{kHalfPi.first, kHalfPi.second} - angle;
  return x < 0 ? -angle.rounded() : angle.rounded();
}

double sin(double x) {
  if (x == 0) return x;
  return is_angle(x) ? sine_cosine(x).sine.rounded() : kNaN;
}

double cos(double x) {
  return is_angle(x) ? sine_cosine(x).cosine.rounded() : kNaN;
}

double tan(double x) {
  if (x == 0) return x;
  if (!is_angle(x)) return kNaN;
  const auto [sine, cosine] = sine_cosine(x);
  return (sine / cosine).rounded();
}

}  // namespace penstock::portable
