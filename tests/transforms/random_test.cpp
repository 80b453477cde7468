#include <cmath>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/random.hpp>

namespace penstock::test::random_test {

using Block = std::array<std::uint32_t, 4>;

// Source: Random123 1.14, tests/kat_vectors, lines "philox4x32 10".
TEST_CASE("philox4x32-10 gives the published answers") {
  CHECK(penstock::philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(penstock::philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(penstock::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("equal arguments give the same sequence, and each argument changes it") {
  const auto first = [](std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample, std::uint32_t transform) {
    Random random(seed, epoch, sample, transform);
    return std::vector<std::uint64_t>{random.next(), random.next(), random.next()};
  };
  CHECK(first(1, 2, 3, 4) == first(1, 2, 3, 4));
  std::set<std::vector<std::uint64_t>> sequences{first(1, 2, 3, 4),
                                                 first(2, 2, 3, 4),
                                                 first(1, 3, 3, 4),
                                                 first(1, 2, 4, 4),
                                                 first(1, 2, 3, 5),
                                                 first(2, 1, 3, 4),
                                                 first(1, 2, std::uint64_t{3} << 32, 4)};
  CHECK(sequences.size() == 7);
}

TEST_CASE("the sequence never changes: saved states rely on it") {
  Random random(0, 0, 0, 0);
  const std::uint64_t first = random.next(), second = random.next(), third = random.next();
  CHECK(first == 0xf8dc1230f1b644d8U);
  CHECK(second == 0x63246410c12ec879U);
  CHECK(third == 0x27b7feaecccdebf6U);
}

TEST_CASE("uniform() stays in [0, 1) with the mean and variance of a uniform variable") {
  Random random(7, 0, 0, 0);
  double sum = 0, squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.uniform();
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    sum += value;
    squares += value * value;
  }
  CHECK(std::abs(sum / kCount - 0.5) < 0.005);
  CHECK(std::abs(squares / kCount - 1.0 / 3) < 0.005);
}

TEST_CASE("uniform(low, high) never reaches high, even where rounding would") {
  Random random(3, 0, 0, 0);
  const double low = 1.0, high = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) CHECK(random.uniform(low, high) == low);
}

TEST_CASE("below() is even over its range and never leaves it") {
  Random random(5, 0, 0, 0);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 500);
  for (int i = 0; i < 1000; ++i) {
    CHECK(random.below(1) == 0);
    CHECK(random.below((std::uint64_t{1} << 63) + 1) <= std::uint64_t{1} << 63);
  }
}

}  // namespace penstock::test::random_test
