#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::sample_poisson_test {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers choose(const SomeCloud& cloud, double size, std::int64_t points, std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  ChosenPoints chosen;
  make_sampler({.method = SampleMethod::poisson, .points = points, .size = size})
      ->choose(cloud.columns(), random, chosen);
  return chosen.numbers;
}

double square_distance(const SomeCloud& cloud, std::size_t a, std::size_t b) {
  const auto difference = [&](const std::vector<float>& values) {
    return static_cast<double>(values[a]) - static_cast<double>(values[b]);
  };
  const double dx = difference(cloud.x), dy = difference(cloud.y), dz = difference(cloud.z);
  return (dx * dx + dy * dy) + dz * dz;
}

double nearest(const SomeCloud& cloud, std::size_t point, const Numbers& others) {
  double least = 1e300;
  for (const std::uint32_t other : others)
    if (other != point) least = std::min(least, square_distance(cloud, point, other));
  return least;
}

}  // namespace

TEST_CASE("no two points are closer than the distance, and every point left out is closer to one") {
  std::vector<SomeCloud> clouds = test::odd_clouds(2000, 1);
  clouds.push_back(test::forest(6000, 2));
  clouds.push_back(test::cube(3000, 3));
  for (const SomeCloud& cloud : clouds) {
    CAPTURE(cloud.name);
    double size = 1.3;
    if (cloud.name == "cube" || cloud.name == "clusters of all sizes") size = 0.11;
    if (cloud.name == "a lattice") size = 2;  // distances that are exactly it
    if (cloud.name == "overflowing") size = 4e37;
    if (cloud.name == "subnormal") size = 1e-44;
    const Numbers chosen = choose(cloud, size, 0, 5);
    for (std::uint32_t point = 0; point < cloud.x.size(); ++point) {
      const bool taken = std::ranges::binary_search(chosen, point);
      REQUIRE((nearest(cloud, point, chosen) < size * size) == !taken);
    }
  }
}

TEST_CASE("points are visited in random order: each may be taken, and none is preferred") {
  SomeCloud cloud{"a row", {}, {}, {}};
  for (int i = 0; i < 3; ++i) cloud.add(i, 0, 0);
  int middle = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Numbers chosen = choose(cloud, 1.5, 0, seed);
    const bool alone = chosen == Numbers{1};
    CHECK((alone || chosen == Numbers{0, 2}));
    middle += alone ? 1 : 0;
  }
  CHECK(std::abs(middle - 1000) < 130);  // the first visit decides
}

TEST_CASE("a wanted number is reached from those that keep the distance first") {
  const SomeCloud cloud = test::forest(4000, 4);
  const Numbers all = choose(cloud, 1, 0, 6);
  REQUIRE(all.size() > 300);
  const Numbers fewer = choose(cloud, 1, 200, 6);
  CHECK(fewer.size() == 200);
  CHECK(std::ranges::includes(all, fewer));
  const Numbers more = choose(cloud, 1, static_cast<std::int64_t>(all.size() + 300), 6);
  CHECK(more.size() == all.size() + 300);
  CHECK(std::ranges::includes(more, all));
}

}  // namespace penstock::test::sample_poisson_test
