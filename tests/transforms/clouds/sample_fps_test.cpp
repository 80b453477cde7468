#include <algorithm>
#include <ctime>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

#include "support/simd_levels.hpp"
#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::sample_fps_test {
namespace {

using Numbers = std::vector<std::uint32_t>;

// The textbook's loops: a distance for each pair of a point and a sample.
Numbers plain_fps(const PointColumns& cloud, std::size_t wanted, std::uint32_t first) {
  std::vector<float> distance(cloud.count, std::numeric_limits<float>::infinity());
  Numbers chosen = {first};
  while (chosen.size() < std::min(wanted, cloud.count)) {
    const std::uint32_t last = chosen.back();
    distance[last] = -1;  // never again
    std::uint32_t farthest = 0;
    float most = -2;
    for (std::uint32_t i = 0; i < cloud.count; ++i) {
      const float dx = cloud.x[i] - cloud.x[last], dy = cloud.y[i] - cloud.y[last], dz = cloud.z[i] - cloud.z[last];
      const float square = (dx * dx + dy * dy) + dz * dz;
      if (square < distance[i]) distance[i] = square;
      if (distance[i] > most) {
        most = distance[i];
        farthest = i;
      }
    }
    chosen.push_back(farthest);
  }
  return chosen;
}

Numbers fps(const SomeCloud& cloud, std::int64_t wanted, std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  ChosenPoints chosen;
  make_sampler({.method = SampleMethod::fps, .points = wanted})->choose(cloud.columns(), random, chosen);
  CHECK(chosen.cells.empty());
  return chosen.numbers;
}

void check_against_plain(const SomeCloud& cloud, std::size_t wanted, std::uint64_t seed) {
  CAPTURE(cloud.name);
  CAPTURE(cloud.x.size());
  CAPTURE(wanted);
  Random random(seed, 0, 0, 0);
  const auto first = static_cast<std::uint32_t>(random.below(cloud.x.size()));
  CHECK(fps(cloud, static_cast<std::int64_t>(wanted), seed) == plain_fps(cloud.columns(), wanted, first));
}

}  // namespace

TEST_CASE("farthest point sampling takes the points that the plain loops take, in their order") {
  check_against_plain(test::forest(30'000, 1), 1000, 1);
  check_against_plain(test::cube(20'000, 2), 500, 2);
  for (const std::size_t points : {2U, 63U, 64U, 65U, 1023U, 1024U, 1025U, 16'384U, 16'385U}) {
    check_against_plain(test::cube(points, points), 200, points);
    check_against_plain(test::forest(points, points), 200, points);
  }
}

TEST_CASE("farthest point sampling takes the plain loops' points of odd clouds, down to the last") {
  for (const SomeCloud& cloud : test::odd_clouds(2000, 3)) {
    check_against_plain(cloud, 2000, 4);
    check_against_plain(cloud, 5000, 5);
    check_against_plain(cloud, 1, 6);
  }
}

TEST_CASE("one sampler takes clouds of many sizes one after the other") {
  const auto sampler = make_sampler({.method = SampleMethod::fps, .points = 50});
  ChosenPoints chosen;
  for (const std::size_t points : {5000U, 3U, 70'000U, 0U, 1U, 900U}) {
    const SomeCloud cloud = test::cube(points, points);
    Random random(9, 0, 0, 0);
    sampler->choose(cloud.columns(), random, chosen);
    CHECK(chosen.numbers == fps(cloud, 50, 9));
    CHECK(chosen.numbers.size() == std::min<std::size_t>(points, 50));
  }
}

TEST_CASE("every SIMD level takes the same points") {
  std::vector<SomeCloud> clouds = test::odd_clouds(1500, 7);
  clouds.push_back(test::forest(20'000, 8));
  std::vector<Numbers> expected;
  for (const SomeCloud& cloud : clouds) expected.push_back(fps(cloud, 700, 10));
  test::at_each_level([&] {
    for (std::size_t i = 0; i < clouds.size(); ++i) CHECK(fps(clouds[i], 700, 10) == expected[i]);
  });
}

// Run by its name, because it takes seconds: --no-skip -tc="*tenth*". Counts the processor's time, not the clock's.
TEST_CASE("farthest point sampling of 4,096 of 400,000 points takes less than a tenth of the plain loops' time" *
          doctest::skip()) {
  const auto seconds = [](const auto& work) {
    const std::clock_t start = std::clock();
    work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  for (const SomeCloud& cloud : {test::forest(400'000, 1), test::cube(400'000, 1)}) {
    const auto sampler = make_sampler({.method = SampleMethod::fps, .points = 4096});
    ChosenPoints chosen;
    Numbers plain;
    std::vector<double> times, plain_times;
    for (int round = 0; round < 3; ++round) {
      Random random(1, 0, 0, 0);
      times.push_back(seconds([&] { sampler->choose(cloud.columns(), random, chosen); }));
      plain_times.push_back(seconds([&] { plain = plain_fps(cloud.columns(), 4096, chosen.numbers.front()); }));
    }
    CHECK(chosen.numbers == plain);
    std::ranges::sort(times);
    std::ranges::sort(plain_times);
    MESSAGE(cloud.name << ": " << times[1] * 1e3 << " ms, plain loops " << plain_times[1] * 1e3 << " ms");
    CHECK(times[1] * 10 < plain_times[1]);
  }
}

}  // namespace penstock::test::sample_fps_test
