#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::sample_inverse_density_test {
namespace {

std::vector<std::uint32_t> choose(const SomeCloud& cloud, std::int64_t points, double size, std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  ChosenPoints chosen;
  make_sampler({.method = SampleMethod::inverse_density, .points = points, .size = size})
      ->choose(cloud.columns(), random, chosen);
  return chosen.numbers;
}

}  // namespace

TEST_CASE("pairs of points come with the probabilities of two weighted draws without replacement") {
  // Cells of 1, 2 and 3 points: weights 1, 1/2, 1/2, 1/3, 1/3, 1/3, which sum to 3.
  SomeCloud cloud{"three cells", {}, {}, {}};
  for (const double x : {0.0, 1.1, 1.2, 2.1, 2.2, 2.3}) cloud.add(x, 0, 0);
  const std::vector<double> weights = {1, 0.5, 0.5, 1.0 / 3, 1.0 / 3, 1.0 / 3};
  std::vector<std::vector<int>> counts(6, std::vector<int>(6));
  constexpr int kRuns = 60'000;
  for (int run = 0; run < kRuns; ++run) {
    const auto pair = choose(cloud, 2, 1, static_cast<std::uint64_t>(run));
    REQUIRE(pair.size() == 2);
    ++counts[pair[0]][pair[1]];
  }
  for (std::size_t a = 0; a < 6; ++a)
    for (std::size_t b = a + 1; b < 6; ++b) {
      const double one_way = weights[a] / 3 * weights[b] / (3 - weights[a]);
      const double other_way = weights[b] / 3 * weights[a] / (3 - weights[b]);
      const double expected = kRuns * (one_way + other_way);
      CAPTURE(a);
      CAPTURE(b);
      CHECK(std::abs(counts[a][b] - expected) < 4.5 * std::sqrt(expected));
    }
}

TEST_CASE("a crowded place and an empty one of the same size give as many points") {
  SomeCloud cloud{"two halves", {}, {}, {}};
  Random random(1, 0, 0, 0);
  for (int i = 0; i < 50'000; ++i)
    cloud.add(random.uniform(i % 50 == 0 ? 10.0 : 0.0, i % 50 == 0 ? 20.0 : 10.0), random.uniform(0, 10), 0);
  const auto chosen = choose(cloud, 200, 2, 2);
  const auto sparse = std::ranges::count_if(chosen, [&](std::uint32_t i) { return cloud.x[i] >= 10; });
  CHECK(std::abs(static_cast<int>(sparse) - 100) < 40);
  const auto by_default = choose(cloud, 200, 0, 2);  // cells of 20 / cbrt(50,000)
  const auto sparse_by_default = std::ranges::count_if(by_default, [&](std::uint32_t i) { return cloud.x[i] >= 10; });
  CHECK(std::abs(static_cast<int>(sparse_by_default) - 100) < 40);
}

}  // namespace penstock::test::sample_inverse_density_test
