#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <bench/measure/coverage.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::coverage_test {
namespace {

double nearest(const SomeCloud& chosen, const SomeCloud& cloud, std::size_t point) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < chosen.x.size(); ++i) {
    const double dx = static_cast<double>(chosen.x[i]) - static_cast<double>(cloud.x[point]);
    const double dy = static_cast<double>(chosen.y[i]) - static_cast<double>(cloud.y[point]);
    const double dz = static_cast<double>(chosen.z[i]) - static_cast<double>(cloud.z[point]);
    least = std::min(least, dx * dx + dy * dy + dz * dz);
  }
  return std::sqrt(least);
}

}  // namespace

TEST_CASE("coverage is what comparing every point with every chosen one gives") {
  std::vector<SomeCloud> clouds = test::odd_clouds(600, 1);
  clouds.push_back(test::forest(3000, 2));
  for (const SomeCloud& cloud : clouds)
    for (const std::size_t wanted : {1U, 7U, 8U, 9U, 150U}) {
      Random random(3, 0, 0, 0);
      ChosenPoints taken;
      make_sampler({.method = SampleMethod::random, .points = static_cast<std::int64_t>(wanted)})
          ->choose(cloud.columns(), random, taken);
      SomeCloud chosen{"chosen", {}, {}, {}};
      for (const std::uint32_t i : taken.numbers)
        chosen.add(static_cast<double>(cloud.x[i]), static_cast<double>(cloud.y[i]), static_cast<double>(cloud.z[i]));
      double sum = 0, most = 0;
      for (std::size_t i = 0; i < cloud.x.size(); ++i) {
        const double distance = nearest(chosen, cloud, i);
        sum += distance;
        most = std::max(most, distance);
      }
      CAPTURE(cloud.name);
      CAPTURE(wanted);
      const Coverage covered = coverage(cloud.columns(), chosen.columns());
      CHECK(covered.mean == doctest::Approx(sum / static_cast<double>(cloud.x.size())));
      CHECK(covered.most == doctest::Approx(most));
    }
}

TEST_CASE("all points cover a cloud without distance, and none do not cover it") {
  const SomeCloud cloud = test::cube(1000, 1), nothing{"nothing", {}, {}, {}};
  CHECK(coverage(cloud.columns(), cloud.columns()).most == 0);
  CHECK(coverage(nothing.columns(), cloud.columns()).mean == 0);
  CHECK_THROWS_AS(coverage(cloud.columns(), nothing.columns()), Error);
}

TEST_CASE("of a real cloud, farthest points leave the smallest holes") {
  const SomeCloud cloud = test::forest(20'000, 4);
  const auto covered = [&](SampleMethod method) {
    Random random(5, 0, 0, 0);
    ChosenPoints taken;
    make_sampler({.method = method, .points = 500})->choose(cloud.columns(), random, taken);
    SomeCloud chosen{"chosen", {}, {}, {}};
    for (const std::uint32_t i : taken.numbers)
      chosen.add(static_cast<double>(cloud.x[i]), static_cast<double>(cloud.y[i]), static_cast<double>(cloud.z[i]));
    return coverage(cloud.columns(), chosen.columns());
  };
  const Coverage random = covered(SampleMethod::random), fps = covered(SampleMethod::fps);
  CHECK(fps.most < random.most / 2);
}

}  // namespace penstock::test::coverage_test
