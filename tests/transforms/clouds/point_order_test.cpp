#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/clouds/samplers/hilbert.hpp>
#include <transforms/clouds/samplers/point_order.hpp>

#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::point_order_test {
namespace {

using Numbers = std::vector<std::uint32_t>;

bool is_permutation_of_all(Numbers order, std::size_t points) {
  std::ranges::sort(order);
  Numbers all(points);
  std::iota(all.begin(), all.end(), 0U);
  return order == all;
}

}  // namespace

TEST_CASE("the Hilbert curve visits every cell of a cube once, from face to face, and every smaller cube as a whole") {
  for (const unsigned bits : {1U, 2U, 3U, 4U, 5U}) {
    const std::uint32_t edge = 1U << bits;
    std::vector<std::array<std::uint32_t, 3>> cells(std::size_t{1} << 3 * bits, {edge, edge, edge});
    for (std::uint32_t x = 0; x < edge; ++x)
      for (std::uint32_t y = 0; y < edge; ++y)
        for (std::uint32_t z = 0; z < edge; ++z) cells.at(hilbert_place({x, y, z}, bits)) = {x, y, z};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      REQUIRE(cells[i][0] < edge);
      if (i == 0) continue;
      int steps = 0;
      for (std::size_t axis = 0; axis < 3; ++axis)
        steps += std::abs(static_cast<int>(cells[i][axis]) - static_cast<int>(cells[i - 1][axis]));
      REQUIRE(steps == 1);
      const bool same_octet = i / 8 == (i - 1) / 8;
      const auto half = [](const auto& cell) { return std::array{cell[0] / 2, cell[1] / 2, cell[2] / 2}; };
      if (same_octet) REQUIRE(half(cells[i]) == half(cells[i - 1]));
    }
  }
}

TEST_CASE("21 bits an axis give places of 63") {
  const std::uint32_t most = (1U << 21) - 1;
  std::vector<std::uint64_t> places;
  for (const std::uint32_t x : {0U, most})
    for (const std::uint32_t y : {0U, most})
      for (const std::uint32_t z : {0U, most}) places.push_back(hilbert_place({x, y, z}, 21));
  std::ranges::sort(places);
  for (std::size_t i = 0; i < 8; ++i) CHECK((places[i] >> 60) == i);
  CHECK(places.front() == 0);
  CHECK(places.back() == (std::uint64_t{1} << 63) - 1);
}

TEST_CASE("points along the curve come by place, those of one cell by number") {
  for (const SomeCloud& cloud : test::odd_clouds(3000, 1)) {
    CAPTURE(cloud.name);
    std::vector<CurvePoint> points, spare;
    along_hilbert(cloud.columns(), bounds_of(cloud.columns()), 21, points, spare);
    Numbers numbers;
    for (const CurvePoint& point : points) numbers.push_back(point.number);
    CHECK(is_permutation_of_all(numbers, cloud.x.size()));
    for (std::size_t i = 1; i < points.size(); ++i)
      REQUIRE((points[i - 1].place < points[i].place ||
               (points[i - 1].place == points[i].place && points[i - 1].number < points[i].number)));
  }
}

TEST_CASE("random_order gives each permutation as often") {
  Random random(1, 0, 0, 0);
  std::map<Numbers, int> counts;
  for (int i = 0; i < 24'000; ++i) ++counts[random_order(4, random)];
  CHECK(counts.size() == 24);
  for (const auto& [order, count] : counts) CHECK(std::abs(count - 1000) < 150);
  CHECK(is_permutation_of_all(random_order(10'000, random), 10'000));
  CHECK(random_order(0, random).empty());
  CHECK_THROWS_AS(random_order(1ULL << 32, random), Error);
}

TEST_CASE("in stratified order every window hits every interval of the curve as often, or one more") {
  for (const std::size_t points : {1U, 2U, 3U, 64U, 100U, 1000U, 1024U, 1025U, 3000U}) {
    CAPTURE(points);
    const SomeCloud cloud = test::forest(points, points);
    Random random(points, 0, 0, 0);
    const Numbers order = stratified_order(cloud.columns(), random);
    REQUIRE(is_permutation_of_all(order, points));
    std::vector<CurvePoint> curve, spare;
    along_hilbert(cloud.columns(), bounds_of(cloud.columns()), 21, curve, spare);
    std::vector<std::size_t> rank(points);
    for (std::size_t i = 0; i < points; ++i) rank[curve[i].number] = i;
    const unsigned bits = static_cast<unsigned>(std::bit_width(points - 1));
    for (unsigned j = 0; j <= bits; ++j) {
      const std::size_t full = points >> (bits - j);  // intervals
      for (std::size_t window = 1; window <= points; window = window * 2 + (window > 8 ? 3 : 0))
        for (std::size_t begin = 0; begin < points; begin += 1 + points / 50) {
          std::vector<std::size_t> hits(full + 1);
          for (std::size_t i = 0; i < window; ++i) ++hits[rank[order[(begin + i) % points]] >> (bits - j)];
          hits.resize(full);
          if (full == 0) continue;
          const auto [least, most] = std::ranges::minmax(hits);
          REQUIRE(most - least <= 1);
          if (std::has_single_bit(points) && window == std::size_t{1} << j) REQUIRE((least == 1 && most == 1));
        }
    }
  }
}

TEST_CASE("stratified order begins anywhere, and each point is as often among the first") {
  const SomeCloud cloud = test::cube(16, 1);
  std::vector<int> first(16);
  for (std::uint64_t seed = 0; seed < 8000; ++seed) {
    Random random(seed, 0, 0, 0);
    ++first[stratified_order(cloud.columns(), random).front()];
  }
  for (const int count : first) CHECK(std::abs(count - 500) < 110);
  Random random(1, 0, 0, 0);
  CHECK(stratified_order({nullptr, nullptr, nullptr, 0}, random).empty());
}

}  // namespace penstock::test::point_order_test
