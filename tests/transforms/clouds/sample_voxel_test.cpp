#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include <transforms/clouds/samplers/sampler.hpp>
#include <transforms/clouds/samplers/voxel.hpp>

#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::sample_voxel_test {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Cell = std::array<double, 3>;

constexpr double kSize = 0.9;

// Points of each cell, in stored order.
std::map<Cell, Numbers> cells_of(const SomeCloud& cloud) {
  const std::array<double, 3> low = {static_cast<double>(std::ranges::min(cloud.x)),
                                     static_cast<double>(std::ranges::min(cloud.y)),
                                     static_cast<double>(std::ranges::min(cloud.z))};
  std::map<Cell, Numbers> cells;
  for (std::size_t i = 0; i < cloud.x.size(); ++i) {
    const Cell cell = {std::floor((static_cast<double>(cloud.x[i]) - low[0]) / kSize),
                       std::floor((static_cast<double>(cloud.y[i]) - low[1]) / kSize),
                       std::floor((static_cast<double>(cloud.z[i]) - low[2]) / kSize)};
    cells[cell].push_back(static_cast<std::uint32_t>(i));
  }
  return cells;
}

ChosenPoints choose(const SomeCloud& cloud, VoxelPoint voxel, std::int64_t points, std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  ChosenPoints chosen;
  make_sampler({.method = SampleMethod::voxel, .points = points, .size = kSize, .voxel = voxel})
      ->choose(cloud.columns(), random, chosen);
  return chosen;
}

Numbers firsts_of(const std::map<Cell, Numbers>& cells) {
  Numbers firsts;
  for (const auto& [cell, points] : cells) firsts.push_back(points.front());
  std::ranges::sort(firsts);
  return firsts;
}

float mean(const std::vector<float>& values, const Numbers& points) {
  double sum = 0;
  for (const std::uint32_t point : points) sum += static_cast<double>(values[point]);
  return static_cast<float>(sum / static_cast<double>(points.size()));
}

}  // namespace

TEST_CASE("each occupied cell gives its first point, or all of its points their mean") {
  const SomeCloud cloud = test::forest(20'000, 1);
  const auto cells = cells_of(cloud);
  CHECK(choose(cloud, VoxelPoint::first, 0, 1).numbers == firsts_of(cells));
  const ChosenPoints chosen = choose(cloud, VoxelPoint::centroid, 0, 1);
  REQUIRE(chosen.numbers == firsts_of(cells));
  REQUIRE(chosen.cells.size() == cloud.x.size());
  std::vector<float> means(chosen.numbers.size());
  average_cells(chosen, cloud.y.data(), means.data());
  for (const auto& [cell, points] : cells) {
    const std::uint32_t entry = chosen.cells[points.front()];
    for (const std::uint32_t point : points) REQUIRE(chosen.cells[point] == entry);
    REQUIRE(chosen.numbers.at(entry) == points.front());
    REQUIRE(means[entry] == mean(cloud.y, points));
  }
}

TEST_CASE("a random point of each cell is any of them as often") {
  const SomeCloud cloud = test::forest(300, 2);
  const auto cells = cells_of(cloud);
  std::vector<int> counts(cloud.x.size());
  constexpr int kRuns = 4000;
  for (int run = 0; run < kRuns; ++run) {
    const ChosenPoints chosen = choose(cloud, VoxelPoint::random, 0, static_cast<std::uint64_t>(run));
    REQUIRE(chosen.numbers.size() == cells.size());
    REQUIRE(chosen.cells.empty());
    for (const std::uint32_t number : chosen.numbers) ++counts[number];
  }
  for (const auto& [cell, points] : cells) {
    int all = 0;
    const double expected = kRuns / static_cast<double>(points.size());
    for (const std::uint32_t point : points) {
      CHECK(std::abs(counts[point] - expected) <= 5 * std::sqrt(expected));
      all += counts[point];
    }
    CHECK(all == kRuns);
  }
}

TEST_CASE("of too many cells a uniform sample is taken, and no point leads to the others") {
  const SomeCloud cloud = test::forest(3000, 3);
  const auto cells = cells_of(cloud);
  REQUIRE(cells.size() > 400);
  std::map<std::uint32_t, int> counts;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const ChosenPoints chosen = choose(cloud, VoxelPoint::centroid, 200, seed);
    REQUIRE(chosen.numbers.size() == 200);
    for (const std::uint32_t number : chosen.numbers) ++counts[number];
    if (seed >= 5) continue;
    for (const auto& [cell, points] : cells) {
      const auto found = std::ranges::find(chosen.numbers, points.front());
      const auto entry = static_cast<std::uint32_t>(found - chosen.numbers.begin());
      for (const std::uint32_t point : points)
        REQUIRE(chosen.cells[point] == (found == chosen.numbers.end() ? ChosenPoints::kNoCell : entry));
    }
  }
  const double expected = 2000.0 * 200 / static_cast<double>(cells.size());
  CHECK(counts.size() == cells.size());
  for (const auto& [number, count] : counts) CHECK(std::abs(count - expected) < 5 * std::sqrt(expected));
}

TEST_CASE("where the cells are too few, points are drawn beside them, and those stand for themselves") {
  const SomeCloud cloud = test::forest(3000, 4);
  const auto cells = cells_of(cloud);
  const auto wanted = static_cast<std::int64_t>(cells.size() + 500);
  const ChosenPoints chosen = choose(cloud, VoxelPoint::centroid, wanted, 1);
  REQUIRE(chosen.numbers.size() == cells.size() + 500);
  std::vector<float> means(chosen.numbers.size());
  average_cells(chosen, cloud.z.data(), means.data());
  std::vector<bool> led(chosen.numbers.size());
  for (const auto& [cell, points] : cells) {
    const std::uint32_t entry = chosen.cells[points.front()];
    REQUIRE(chosen.numbers.at(entry) == points.front());
    CHECK(means[entry] == mean(cloud.z, points));
    led[entry] = true;
  }
  CHECK(std::ranges::count(led, false) == 500);
  for (std::size_t i = 0; i < led.size(); ++i)
    if (!led[i]) CHECK(means[i] == cloud.z[chosen.numbers[i]]);
  const Numbers firsts = firsts_of(cells), more = choose(cloud, VoxelPoint::first, wanted, 1).numbers;
  CHECK(std::ranges::includes(more, firsts));
}

}  // namespace penstock::test::sample_voxel_test
