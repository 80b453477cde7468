#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/clouds/samplers/random.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

namespace penstock::test::sample_random_test {
namespace {

using Numbers = std::vector<std::uint32_t>;

bool rises_below(const Numbers& numbers, std::uint64_t bound) {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i - 1] >= numbers[i]) return false;
  return numbers.empty() || numbers.back() < bound;
}

// Pearson's statistic of counts that should be equal, over its degrees of freedom: close to 1.
double unevenness(const std::map<Numbers, int>& counts, std::size_t possible) {
  double draws = 0, sum = 0;
  for (const auto& [subset, count] : counts) draws += count;
  const double expected = draws / static_cast<double>(possible);
  for (const auto& [subset, count] : counts) sum += (count - expected) * (count - expected) / expected;
  sum += expected * static_cast<double>(possible - counts.size());
  return sum / static_cast<double>(possible - 1);
}

}  // namespace

TEST_CASE("choose_random gives as many different numbers as wanted, rising") {
  Random random(1, 0, 0, 0);
  Numbers numbers;
  for (const std::uint64_t points : {1ULL, 2ULL, 63ULL, 64ULL, 65ULL, 1000ULL, 100'000ULL, 5'000'000ULL, 1ULL << 32})
    for (const std::uint64_t wanted : {0ULL, 1ULL, 2ULL, 31ULL, 40ULL, 64ULL, 65ULL, 999ULL, 4096ULL}) {
      CAPTURE(points);
      CAPTURE(wanted);
      penstock::choose_random(points, wanted, random, numbers);
      CHECK(numbers.size() == std::min(points, wanted));
      CHECK(rises_below(numbers, points));
    }
  penstock::choose_random(0, 5, random, numbers);
  CHECK(numbers.empty());
  CHECK_THROWS_AS(penstock::choose_random((1ULL << 32) + 1, 5, random, numbers), penstock::Error);
}

TEST_CASE("choose_random draws each subset as often: few numbers, most of them, and one in very many") {
  struct Case {
    std::uint64_t points, wanted;
    std::size_t possible;
  };
  Random random(2, 0, 0, 0);
  for (const auto& [points, wanted, possible] : {Case{7, 2, 21}, Case{7, 5, 21}, Case{6, 3, 20}, Case{300, 1, 300}}) {
    std::map<Numbers, int> counts;
    Numbers numbers;
    for (std::size_t i = 0; i < 1000 * possible; ++i) {
      penstock::choose_random(points, wanted, random, numbers);
      ++counts[numbers];
    }
    CAPTURE(points);
    CAPTURE(wanted);
    CHECK(counts.size() == possible);
    CHECK(unevenness(counts, possible) < 2);
  }
}

TEST_CASE("choose_random takes each number and each pair of numbers as often where it sorts") {
  Random random(3, 0, 0, 0);
  std::vector<int> counts(1024);  // more than 256 for each that is wanted
  Numbers numbers;
  int in_lower_half = 0;
  constexpr int kRuns = 200'000;
  for (int i = 0; i < kRuns; ++i) {
    penstock::choose_random(1024, 3, random, numbers);
    REQUIRE(numbers.size() == 3);
    REQUIRE(rises_below(numbers, 1024));
    for (const std::uint32_t number : numbers) ++counts[number];
    in_lower_half += numbers[2] < 512 ? 1 : 0;
  }
  for (const int count : counts) CHECK(std::abs(count - kRuns * 3 / 1024) < 150);  // deviation 24
  const double all_lower = 512.0 * 511 * 510 / (1024.0 * 1023 * 1022);
  CHECK(in_lower_half / double{kRuns} == doctest::Approx(all_lower).epsilon(0.03));
}

TEST_CASE("the numbers never change: packed clouds and saved states rely on them") {
  Numbers numbers;
  Random dense(1, 2, 3, 4), sparse(1, 2, 3, 4), most(1, 2, 3, 4);
  penstock::choose_random(100, 6, dense, numbers);
  CHECK(numbers == Numbers{14, 52, 63, 72, 76, 91});
  penstock::choose_random(1'000'000, 4, sparse, numbers);
  CHECK(numbers == Numbers{543270, 673520, 748439, 776194});
  penstock::choose_random(10, 7, most, numbers);
  CHECK(numbers == Numbers{0, 1, 2, 3, 6, 8, 9});
}

TEST_CASE("choose_in_blocks takes points of as many blocks as told, and of more only where these do not hold enough") {
  struct Case {
    std::uint64_t points, wanted, block_points, blocks;
    std::size_t used;
  };
  Random random(4, 0, 0, 0);
  Numbers numbers;
  for (const Case& c : {Case{1000, 50, 100, 3, 3}, Case{1000, 250, 100, 1, 3}, Case{950, 950, 100, 2, 10},
                        Case{1000, 2000, 100, 1, 10}, Case{10, 4, 100, 5, 1}, Case{1000, 300, 1, 2, 300}}) {
    for (int run = 0; run < 50; ++run) {
      CAPTURE(c.points);
      CAPTURE(c.wanted);
      penstock::choose_in_blocks(c.points, c.wanted, c.block_points, c.blocks, random, numbers);
      CHECK(numbers.size() == std::min(c.points, c.wanted));
      CHECK(rises_below(numbers, c.points));
      std::set<std::uint64_t> used;
      for (const std::uint32_t number : numbers) used.insert(number / c.block_points);
      CHECK(used.size() <= c.used);
      if (c.wanted >= 50) CHECK(used.size() == c.used);  // 50 of 300 points miss a block of three once in 1e9
    }
  }
  penstock::choose_in_blocks(0, 5, 10, 1, random, numbers);
  CHECK(numbers.empty());
  CHECK_THROWS_AS(penstock::choose_in_blocks(10, 5, 0, 1, random, numbers), penstock::Error);
}

TEST_CASE("a last block that is short is made up for by one more, and every point comes as often") {
  Random random(5, 0, 0, 0);
  Numbers numbers;
  std::vector<int> counts(25);  // blocks of 10, 10 and 5
  constexpr int kRuns = 30'000;
  for (int run = 0; run < kRuns; ++run) {
    penstock::choose_in_blocks(25, 10, 10, 1, random, numbers);
    REQUIRE(numbers.size() == 10);
    for (const std::uint32_t number : numbers) ++counts[number];
  }
  // With the short block (one run in three) comes a long one, and 10 of their 15 points.
  for (std::size_t i = 0; i < 25; ++i) {
    const double expected = i < 20 ? (1 + 0.5 * 10 / 15) / 3 : (1.0 * 10 / 15) / 3;
    CHECK(counts[i] / double{kRuns} == doctest::Approx(expected).epsilon(0.04));
  }
}

TEST_CASE("fill_up_random adds numbers that were not there, each as often") {
  Random random(6, 0, 0, 0);
  std::map<Numbers, int> counts;
  for (int run = 0; run < 30'000; ++run) {
    Numbers numbers = {0, 3, 4, 8};
    penstock::fill_up_random(10, 2, random, numbers);
    REQUIRE(numbers.size() == 6);
    REQUIRE(rises_below(numbers, 10));
    for (const std::uint32_t kept : {0U, 3U, 4U, 8U}) REQUIRE(std::ranges::binary_search(numbers, kept));
    ++counts[numbers];
  }
  CHECK(unevenness(counts, 15) < 2.5);
}

}  // namespace penstock::test::sample_random_test
