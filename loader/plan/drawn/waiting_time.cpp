#include <array>
#include <bit>
#include <cstddef>

#include <penstock/base/numbers/wide.hpp>
#include <penstock/loader/plan/drawn/waiting_time.hpp>

namespace penstock {
namespace {

constexpr unsigned kStretchBits = 7;
constexpr double kDoubtful = 0x1p-10;  // of a unit: many times what the floating-point numbers can be off by

// Of a number from 1 to 2, in units of 2^-63, so many bits of its log2.
constexpr std::uint64_t log2_by_squares(std::uint64_t mantissa, int bits) {
  std::uint64_t log2 = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const Wide square = Wide{mantissa} * mantissa;
    const bool two = (square >> 127) != 0;
    mantissa = static_cast<std::uint64_t>(square >> (two ? 64 : 63));
    log2 = log2 << 1 | (two ? 1U : 0U);
  }
  return log2;
}

// From 1 to 2 lie stretches of the same length; of each the middle.
struct Stretch {
  double by = 0;    // 2^-63 / middle
  double log2 = 0;  // of the middle, in units of 2^-32
};

constexpr std::uint64_t middle_of(std::uint64_t stretch) {
  return (std::uint64_t{1} << 63) + (2 * stretch + 1) * (std::uint64_t{1} << (62 - kStretchBits));
}

constexpr auto kStretches = [] {
  std::array<Stretch, std::size_t{1} << kStretchBits> stretches;
  for (std::uint64_t i = 0; i < stretches.size(); ++i)
    stretches[i] = {.by = 1 / static_cast<double>(middle_of(i)),
                    .log2 = static_cast<double>(log2_by_squares(middle_of(i), 60)) * 0x1p-28};
  return stretches;
}();

}  // namespace

std::uint64_t waiting_time_by_squares(std::uint64_t draw) {
  draw |= 1;
  const int zeros = std::countl_zero(draw);
  return (static_cast<std::uint64_t>(zeros + 1) << 32) - log2_by_squares(draw << zeros, 32);
}

// By the first terms of the series of a logarithm around the middle of a stretch, which are off by less than 2^-16 of a
// unit. Where a whole number is so near that the squares could have come to the other side of it, they decide.
std::uint64_t waiting_time(std::uint64_t draw) {
  constexpr double kUnits = 0x1p32 / 0.69314718055994530942;  // of a natural logarithm
  draw |= 1;
  const int zeros = std::countl_zero(draw);
  const std::uint64_t mantissa = draw << zeros;
  const std::uint64_t number = mantissa << 1 >> (64 - kStretchBits);
  const Stretch& stretch = kStretches[number];
  const double x = static_cast<double>(static_cast<std::int64_t>(mantissa - middle_of(number))) * stretch.by;
  const double log2 =
      stretch.log2 + x * (kUnits + x * (-kUnits / 2 + x * (kUnits / 3 + x * (-kUnits / 4 + x * (kUnits / 5)))));
  const auto whole = static_cast<std::int64_t>(log2);
  const double rest = log2 - static_cast<double>(whole);
  if (!(rest > kDoubtful && rest < 1 - kDoubtful)) return waiting_time_by_squares(draw);
  return (static_cast<std::uint64_t>(zeros + 1) << 32) - static_cast<std::uint64_t>(whole);
}

}  // namespace penstock
