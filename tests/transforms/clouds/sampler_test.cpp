#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/samplers/sampler.hpp>

#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::sampler_test {
namespace {

constexpr SampleMethod kMethods[] = {SampleMethod::random,         SampleMethod::blocks,  SampleMethod::fps,
                                     SampleMethod::voxel,          SampleMethod::poisson, SampleMethod::stratified,
                                     SampleMethod::inverse_density};

SampleOptions options_of(SampleMethod method, std::int64_t points) {
  const bool sized = method == SampleMethod::voxel || method == SampleMethod::poisson;
  return {.method = method, .points = points, .size = sized ? 0.7 : 0};
}

ChosenPoints choose(const SampleOptions& options, const SomeCloud& cloud, std::uint64_t seed) {
  Random random(seed, 0, 0, 0);
  ChosenPoints chosen;
  make_sampler(options)->choose(cloud.columns(), random, chosen);
  return chosen;
}

bool is_refused(const SampleOptions& options) {
  try {
    make_sampler(options);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::invalid_argument;
  }
  return false;
}

}  // namespace

TEST_CASE("methods are named as they are read") {
  for (const SampleMethod method : kMethods) CHECK(sample_method_named(name(method)) == method);
  CHECK(name(SampleMethod::inverse_density) == "inverse_density");
  CHECK_FALSE(sample_method_named("farthest").has_value());
}

TEST_CASE("options that do not fit the method are refused") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  CHECK(is_refused({.method = SampleMethod::fps, .points = 0}));
  CHECK(is_refused({.method = SampleMethod::fps, .points = -1}));
  CHECK(is_refused({.method = SampleMethod::blocks, .points = 10}));
  CHECK(is_refused({.method = SampleMethod::voxel, .points = 10, .size = 0}));
  CHECK(is_refused({.method = SampleMethod::voxel, .points = 10, .size = kNaN}));
  CHECK(is_refused({.method = SampleMethod::voxel, .points = -10, .size = 1}));
  CHECK(is_refused({.method = SampleMethod::poisson, .points = 10, .size = -1}));
  CHECK(is_refused({.method = SampleMethod::inverse_density, .points = 10, .size = -1}));
  CHECK(is_refused({.method = SampleMethod::stratified, .points = 10, .slices = 0}));
  CHECK(is_refused({.method = SampleMethod::stratified, .points = 10, .slices = 1'000'000}));
  CHECK_FALSE(is_refused({.method = SampleMethod::poisson, .points = 0, .size = 1}));
}

TEST_CASE("every method gives the wanted number of different points, or all, as one seed draws them") {
  std::vector<SomeCloud> clouds = test::odd_clouds(700, 1);
  clouds.push_back(test::forest(5000, 2));
  clouds.push_back({"empty", {}, {}, {}});
  for (const SampleMethod method : kMethods) {
    if (method == SampleMethod::blocks) continue;
    for (const SomeCloud& cloud : clouds)
      for (const std::int64_t wanted : {1, 100, 699, 6000}) {
        SampleOptions options = options_of(method, wanted);
        if (options.size > 0 && cloud.name == "overflowing") options.size = 1e36;  // else the grid is too fine
        for (const VoxelPoint voxel : {VoxelPoint::centroid, VoxelPoint::first, VoxelPoint::random}) {
          options.voxel = voxel;
          CAPTURE(std::string(name(method)));
          CAPTURE(cloud.name);
          CAPTURE(wanted);
          const ChosenPoints chosen = choose(options, cloud, 3);
          std::vector<std::uint32_t> sorted = chosen.numbers;
          if (method != SampleMethod::fps) CHECK(std::ranges::is_sorted(sorted));
          std::ranges::sort(sorted);
          CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
          CHECK(sorted.size() == std::min(static_cast<std::size_t>(wanted), cloud.x.size()));
          CHECK((sorted.empty() || sorted.back() < cloud.x.size()));
          CHECK(choose(options, cloud, 3).numbers == chosen.numbers);
          if (cloud.name == "forest" && wanted == 100) CHECK(choose(options, cloud, 4).numbers != chosen.numbers);
          if (method != SampleMethod::voxel) break;
        }
      }
  }
}

TEST_CASE("a coordinate that is not finite is an error that names the point, for every method that looks at it") {
  const float kOdd[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                        -std::numeric_limits<float>::infinity()};
  for (const SampleMethod method : kMethods) {
    if (method == SampleMethod::blocks || method == SampleMethod::random) continue;
    for (const float odd : kOdd)
      for (int axis = 0; axis < 3; ++axis)
        for (const std::size_t place : {std::size_t{0}, std::size_t{123}, std::size_t{998}}) {
          SomeCloud cloud = test::cube(999, 1);
          (axis == 0 ? cloud.x : axis == 1 ? cloud.y : cloud.z)[place] = odd;
          try {
            choose(options_of(method, 10), cloud, 1);
            FAIL("no error");
          } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::corrupt);
            CHECK(error.cause() == "point " + std::to_string(place) + " has a coordinate that is not finite");
          }
        }
  }
}

TEST_CASE("a grid that is too fine for its cloud is an error, not a wrong cell") {
  SomeCloud cloud = test::cube(100, 1);
  cloud.add(3e38, 0, 0);
  for (const SampleMethod method : {SampleMethod::voxel, SampleMethod::poisson, SampleMethod::inverse_density}) {
    SampleOptions options{.method = method, .points = 10, .size = 0.01};
    CHECK_THROWS_WITH(choose(options, cloud, 1), doctest::Contains("more than 2^32 cells"));
    options.size = 1e-300;
    CHECK_THROWS_WITH(choose(options, cloud, 1), doctest::Contains("more than 2^32 cells"));
  }
  SomeCloud wide = test::cube(100, 1);
  wide.add(1e6, 1e6, 1e6);
  CHECK_THROWS_WITH(choose({.method = SampleMethod::voxel, .size = 1e-3}, wide, 1),
                    doctest::Contains("more than 2^63 cells"));
  CHECK(choose({.method = SampleMethod::voxel, .size = 1}, wide, 1).numbers.size() == 2);
}

}  // namespace penstock::test::sampler_test
