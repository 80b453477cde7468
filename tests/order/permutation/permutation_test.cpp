#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include <order/permutation/permutation.hpp>

#include "support/simd_levels.hpp"

namespace penstock::test::permutation_test {
namespace {

std::vector<std::uint64_t> listed(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(size, seed, epoch);
  std::vector<std::uint64_t> order(size);
  for (std::uint64_t i = 0; i < size; ++i) order[i] = permutation(i);
  return order;
}

bool holds_each_once(std::vector<std::uint64_t> order) {
  std::sort(order.begin(), order.end());
  for (std::uint64_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

}  // namespace

TEST_CASE("every size is permuted without loss or repeat, and position_of is the inverse") {
  std::vector<std::uint64_t> sizes{63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4096, 4097, 10007, 65537};
  for (std::uint64_t size = 0; size <= 40; ++size) sizes.push_back(size);
  for (const std::uint64_t size : sizes) {
    CAPTURE(size);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      CHECK(holds_each_once(listed(size, seed, 7)));
      const Permutation permutation(size, seed, 7);
      bool inverse = true;
      for (std::uint64_t i = 0; i < size; ++i) inverse = inverse && permutation.position_of(permutation(i)) == i;
      CHECK(inverse);
    }
  }
}

TEST_CASE("a list holds what each position gives") {
  for (const std::uint64_t size : {1ULL, 2ULL, 63ULL, 64ULL, 65ULL, 1000ULL, 20'000ULL, 5'000'000'000ULL}) {
    const Permutation permutation(size, 7, 3);
    for (const std::uint64_t count : {0ULL, 1ULL, 63ULL, 64ULL, 65ULL, 300ULL}) {
      const std::uint64_t first = size > count ? (size - count) / 2 : 0;
      std::vector<std::uint64_t> list(std::min(count, size)), expected(list.size());
      permutation.list(first, list);
      for (std::uint64_t i = 0; i < expected.size(); ++i) expected[i] = permutation(first + i);
      CHECK(list == expected);
    }
  }
}

TEST_CASE("every SIMD level lists the same") {
  const std::vector<std::uint64_t> expected = listed(3000, 7, 3);
  penstock::test::at_each_level([&] {
    std::vector<std::uint64_t> list(expected.size());
    Permutation(3000, 7, 3).list(0, list);
    CHECK(list == expected);
  });
}

TEST_CASE("sizes beyond 32 bits stay in range and invert") {
  for (const std::uint64_t size : {(std::uint64_t{1} << 32) + 1, (std::uint64_t{1} << 62), std::uint64_t{1} << 40}) {
    const Permutation permutation(size, 1, 2);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const std::uint64_t position = i * (size / 101);
      CHECK(permutation(position) < size);
      CHECK(permutation.position_of(permutation(position)) == position);
    }
  }
}

TEST_CASE("over many seeds each of the orders of 2, 3 and 4 elements comes up equally often") {
  for (const std::uint64_t size : {2u, 3u, 4u}) {
    std::map<std::vector<std::uint64_t>, double> seen;
    constexpr double kDraws = 24000;
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(kDraws); ++seed) ++seen[listed(size, seed, 0)];
    const double orders = size == 2 ? 2 : size == 3 ? 6 : 24;
    CHECK(seen.size() == static_cast<std::size_t>(orders));
    double chi_square = 0;
    for (const auto& [order, count] : seen)
      chi_square += (count - kDraws / orders) * (count - kDraws / orders) / (kDraws / orders);
    CAPTURE(size);
    CHECK(chi_square < 50);  // 23 degrees of freedom exceed 50 with a probability of 0.001; seeds are fixed
  }
}

TEST_CASE("over seeds, and over epochs, each element reaches each position equally often") {
  for (const std::uint64_t size : {5u, 17u, 64u}) {
    for (const bool over_epochs : {false, true}) {
      std::vector<double> seen(size * size);
      constexpr std::uint64_t kDraws = 20000;
      for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
        const Permutation permutation(size, over_epochs ? 1 : draw, over_epochs ? draw : 1);
        for (std::uint64_t i = 0; i < size; ++i) ++seen[i * size + permutation(i)];
      }
      const double expected = static_cast<double>(kDraws) / static_cast<double>(size);
      double chi_square = 0;
      for (const double count : seen) chi_square += (count - expected) * (count - expected) / expected;
      const double freedom = static_cast<double>((size - 1) * (size - 1));
      CAPTURE(size);
      CAPTURE(over_epochs);
      CHECK(chi_square < freedom + 5 * std::sqrt(2 * freedom));  // five standard deviations
    }
  }
}

TEST_CASE("the order is the same in every version") {
  CHECK(listed(10, 0, 0) == std::vector<std::uint64_t>{7, 3, 4, 1, 5, 0, 2, 9, 6, 8});
  CHECK(listed(10, 42, 3) == std::vector<std::uint64_t>{9, 8, 3, 2, 5, 4, 0, 6, 7, 1});
}

}  // namespace penstock::test::permutation_test
