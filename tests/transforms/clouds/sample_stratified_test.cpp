#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::sample_stratified_test {
namespace {

std::vector<std::uint32_t> choose(const SomeCloud& cloud, std::int64_t points, std::int64_t slices,
                                  std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  ChosenPoints chosen;
  make_sampler({.method = SampleMethod::stratified, .points = points, .slices = slices})
      ->choose(cloud.columns(), random, chosen);
  return chosen.numbers;
}

// Heights from 0 to slices.size(), so many points in each unit of height; the first and the last point mark the ends.
SomeCloud stack(const std::vector<std::size_t>& slices) {
  SomeCloud cloud{"stack", {}, {}, {}};
  Random random(1, 0, 0, 0);
  cloud.add(0, 0, 0);
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    const std::size_t marks = (slice == 0 ? 1U : 0U) + (slice + 1 == slices.size() ? 1U : 0U);
    for (std::size_t i = marks; i < slices[slice]; ++i)
      cloud.add(0, 0, static_cast<double>(slice) + random.uniform(0.01, 0.99));
  }
  cloud.add(0, 0, static_cast<double>(slices.size()));
  return cloud;
}

std::vector<std::size_t> per_slice(const SomeCloud& cloud, const std::vector<std::uint32_t>& numbers,
                                   std::size_t slices) {
  std::vector<std::size_t> counts(slices);
  for (const std::uint32_t number : numbers)
    ++counts.at(std::min(static_cast<std::size_t>(cloud.z[number]), slices - 1));
  return counts;
}

}  // namespace

TEST_CASE("each slice of height gives the same number; what one lacks, the others share") {
  using Counts = std::vector<std::size_t>;
  const SomeCloud cloud = stack({500, 3, 0, 80, 900});
  CHECK(per_slice(cloud, choose(cloud, 12, 5, 1), 5) == Counts{3, 3, 0, 3, 3});
  CHECK(per_slice(cloud, choose(cloud, 123, 5, 1), 5) == Counts{40, 3, 0, 40, 40});
  CHECK(per_slice(cloud, choose(cloud, 583, 5, 1), 5) == Counts{250, 3, 0, 80, 250});
  CHECK(per_slice(cloud, choose(cloud, 1283, 5, 1), 5) == Counts{500, 3, 0, 80, 700});
  CHECK(per_slice(cloud, choose(cloud, 9999, 5, 1), 5) == Counts{500, 3, 0, 80, 900});
}

TEST_CASE("what does not divide goes to slices that are drawn") {
  const SomeCloud cloud = stack({50, 50, 50, 50});
  std::vector<int> more(4);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const auto counts = per_slice(cloud, choose(cloud, 21, 4, seed), 4);
    REQUIRE(std::ranges::count(counts, 5U) == 3);
    ++more[static_cast<std::size_t>(std::ranges::find(counts, 6U) - counts.begin())];
  }
  for (const int count : more) CHECK(std::abs(count - 1000) < 140);
}

TEST_CASE("within a slice each point comes as often") {
  const SomeCloud cloud = stack({10, 40});
  std::vector<int> counts(50);
  for (std::uint64_t seed = 0; seed < 8000; ++seed)
    for (const std::uint32_t number : choose(cloud, 10, 2, seed)) ++counts[number];
  for (std::size_t i = 0; i < 50; ++i) {
    const double expected = cloud.z[i] < 1 ? 4000 : 1000;
    CHECK(std::abs(counts[i] - expected) < 5 * std::sqrt(expected));
  }
}

TEST_CASE("a cloud without height is one slice") {
  const SomeCloud cloud = stack({30});
  SomeCloud flat = cloud;
  std::ranges::fill(flat.z, 4.0F);
  CHECK(choose(flat, 7, 16, 1).size() == 7);
}

}  // namespace penstock::test::sample_stratified_test
