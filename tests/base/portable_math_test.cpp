#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <base/numbers/portable_math.hpp>

namespace penstock::test::portable_math_test {

using Function = double (*)(double);

struct Known {
  Function function;
  double x, value;
};

struct Pair {
  Function ours, of_the_c_library;
  double low, high;
};

const Pair kPairs[] = {
    {portable::exp, std::exp, -700, 700}, {portable::exp, std::exp, -2, 2},       {portable::log, std::log, 1e-3, 2},
    {portable::log, std::log, 1e-3, 1e9}, {portable::sin, std::sin, -7, 7},       {portable::cos, std::cos, -7, 7},
    {portable::tan, std::tan, -7, 7},     {portable::sin, std::sin, -1e6, 1e6},   {portable::atan, std::atan, -1, 1},
    {portable::atan, std::atan, -50, 50}, {portable::atan, std::atan, -1e9, 1e9},
};

double between(std::mt19937_64& bits, double low, double high) {
  return low + static_cast<double>(bits() >> 11) * 0x1p-53 * (high - low);
}

TEST_CASE("values are the true ones, rounded to the nearest double") {
  const Known known[] = {
      // libquadmath's, rounded
      {portable::exp, 0.10000000000000001, 0x1.1aec7b35a00d4p+0},
      {portable::exp, 0.75, 0x1.0ef9db467dcf8p+1},
      {portable::exp, 1, 0x1.5bf0a8b145769p+1},
      {portable::exp, 1.5, 0x1.1ed3fe64fc541p+2},
      {portable::exp, 2, 0x1.d8e64b8d4ddaep+2},
      {portable::exp, 3.14159265358979, 0x1.724046eb09325p+4},
      {portable::exp, 10, 0x1.5829dcf95056p+14},
      {portable::exp, 22, 0x1.ab5adb9c436p+31},
      {portable::exp, 0.0078125, 0x1.0202015600446p+0},
      {portable::log, 0.10000000000000001, -0x1.26bb1bbb55515p+1},
      {portable::log, 0.75, -0x1.269621134db92p-2},
      {portable::log, 1, 0x0p+0},
      {portable::log, 1.5, 0x1.9f323ecbf984cp-2},
      {portable::log, 2, 0x1.62e42fefa39efp-1},
      {portable::log, 3.14159265358979, 0x1.250d048e7a1b8p+0},
      {portable::log, 10, 0x1.26bb1bbb55516p+1},
      {portable::log, 22, 0x1.8ba74773dc5c8p+1},
      {portable::log, 0.0078125, -0x1.3687a9f1af2b1p+2},
      {portable::sin, 0.10000000000000001, 0x1.98eaecb8bcb2cp-4},
      {portable::sin, 0.75, 0x1.5cffc16bf8f0dp-1},
      {portable::sin, 1, 0x1.aed548f090ceep-1},
      {portable::sin, 1.5, 0x1.feb7a9b2c6d8bp-1},
      {portable::sin, 2, 0x1.d18f6ead1b446p-1},
      {portable::sin, 3.14159265358979, 0x1.d1a62633145cp-49},
      {portable::sin, 10, -0x1.1689ef5f34f52p-1},
      {portable::sin, 22, -0x1.220a29f6eb9f4p-7},
      {portable::sin, 0.0078125, 0x1.fffeaaaaeeeefp-8},
      {portable::cos, 0.10000000000000001, 0x1.fd712f9a817c1p-1},
      {portable::cos, 0.75, 0x1.769fec655211fp-1},
      {portable::cos, 1, 0x1.14a280fb5068cp-1},
      {portable::cos, 1.5, 0x1.21bd54fc5f9a7p-4},
      {portable::cos, 2, -0x1.aa22657537205p-2},
      {portable::cos, 3.14159265358979, -0x1p+0},
      {portable::cos, 10, -0x1.ad9ac890c6b1fp-1},
      {portable::cos, 22, -0x1.fffadd8d4acdap-1},
      {portable::cos, 0.0078125, 0x1.fffc000155552p-1},
      {portable::tan, 0.10000000000000001, 0x1.9af8877430b8p-4},
      {portable::tan, 0.75, 0x1.dcfa36110eeecp-1},
      {portable::tan, 1, 0x1.8eb245cbee3a6p+0},
      {portable::tan, 1.5, 0x1.c33ed50b88777p+3},
      {portable::tan, 2, -0x1.17af62e0950f8p+1},
      {portable::tan, 3.14159265358979, -0x1.d1a62633145cp-49},
      {portable::tan, 10, 0x1.4bf5f34be3782p-1},
      {portable::tan, 22, 0x1.220d129b73ef8p-7},
      {portable::tan, 0.0078125, 0x1.00015557777afp-7},
      {portable::atan, 0.10000000000000001, 0x1.983e282e2cc4dp-4},
      {portable::atan, 0.75, 0x1.4978fa3269ee1p-1},
      {portable::atan, 1, 0x1.921fb54442d18p-1},
      {portable::atan, 1.5, 0x1.f730bd281f69bp-1},
      {portable::atan, 2, 0x1.1b6e192ebbe44p+0},
      {portable::atan, 3.14159265358979, 0x1.433b8a322ddd1p+0},
      {portable::atan, 10, 0x1.789bd2c160054p+0},
      {portable::atan, 22, 0x1.867ed918ab138p+0},
      {portable::atan, 0.0078125, 0x1.fffd555bbba97p-8},
  };
  for (const Known& one : known) {
    CAPTURE(one.x);
    CAPTURE(one.value);
    CHECK(one.function(one.x) == one.value);
  }
}

TEST_CASE("no value is farther than a neighbour from that of the C library") {
  for (const Pair& pair : kPairs) {
    CAPTURE(&pair - kPairs);
    std::mt19937_64 bits(1);
    for (int i = 0; i < 10000; ++i) {
      const double x = between(bits, pair.low, pair.high), ours = pair.ours(x), theirs = pair.of_the_c_library(x);
      REQUIRE(std::nextafter(ours, theirs) == theirs);
    }
  }
}

TEST_CASE("the bits are the same with every compiler, C library and processor") {
  std::uint64_t sum = 0;
  for (const Pair& pair : kPairs) {
    std::mt19937_64 bits(2);
    for (int i = 0; i < 10000; ++i)
      sum = sum * 0x9e3779b97f4a7c15 + std::bit_cast<std::uint64_t>(pair.ours(between(bits, pair.low, pair.high)));
  }
  CHECK(sum == 0xcd8700840bf802d1);
}

TEST_CASE("numbers at the ends give what IEEE 754 says") {
  const double infinity = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
  CHECK(portable::exp(0) == 1);
  CHECK(portable::exp(-infinity) == 0);
  CHECK(portable::exp(infinity) == infinity);
  CHECK(portable::exp(709.78) == std::exp(709.78));
  CHECK(portable::exp(709.79) == infinity);
  CHECK(portable::exp(-744) == std::exp(-744.0));
  CHECK(portable::exp(-746) == 0);
  CHECK(portable::log(1) == 0);
  CHECK(portable::log(0) == -infinity);
  CHECK(portable::log(infinity) == infinity);
  CHECK(std::isnan(portable::log(-1)));
  CHECK(portable::log(5e-324) == std::log(5e-324));
  CHECK(portable::log(std::numeric_limits<double>::max()) == std::log(std::numeric_limits<double>::max()));
  CHECK(portable::atan(infinity) == std::atan(infinity));
  CHECK(portable::atan(-infinity) == std::atan(-infinity));
  CHECK(portable::sin(1e-320) == 1e-320);
  CHECK(std::isnan(portable::sin(1e7)));
  for (const Function function : {portable::sin, portable::tan, portable::atan}) {
    CHECK(function(0) == 0);
    CHECK(std::signbit(function(-0.0)));
  }
  for (const Function function :
       {portable::exp, portable::log, portable::sin, portable::cos, portable::tan, portable::atan})
    CHECK(std::isnan(function(none)));
}

TEST_CASE("the quick logarithm keeps 14 digits") {
  std::mt19937_64 bits(3);
  for (int i = 0; i < 10000; ++i) {
    const double x = between(bits, 1e-9, 1);
    REQUIRE(std::abs(portable::quick_log(x) - std::log(x)) <= 1e-15 * (1 + std::abs(std::log(x))));
  }
}

}  // namespace penstock::test::portable_math_test
