// Tests the boxes of random_resized_crop() and random_erasing().
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <doctest/doctest.h>

#include <penstock/chain.hpp>
#include <penstock/random.hpp>

namespace penstock::test::random_box_test {
namespace {

std::int64_t rounded(double value) {
  return static_cast<std::int64_t>(std::nearbyint(value));
}

std::int64_t place(Random& random, std::int64_t room) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(room + 1)));
}

// Source: torchvision 0.20, transforms/v2/_geometry.py, RandomResizedCrop.make_params, but for its last resort.
std::optional<Region> crop_of(const step::RandomResizedCrop& crop, Size image, Random& random) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area =
        static_cast<double>(image.width * image.height) * random.uniform(crop.scale.low, crop.scale.high);
    const double ratio = std::exp(random.uniform(std::log(crop.ratio.low), std::log(crop.ratio.high)));
    const std::int64_t width = rounded(std::sqrt(area * ratio)), height = rounded(std::sqrt(area / ratio));
    if (width <= 0 || width > image.width || height <= 0 || height > image.height) continue;
    const std::int64_t top = place(random, image.height - height), left = place(random, image.width - width);
    return Region{left, top, width, height};
  }
  return std::nullopt;
}

// Source: torchvision 0.20, transforms/v2/_augment.py, RandomErasing.make_params. Its ratio is height / width.
std::optional<Region> erased_of(const step::RandomErasing& erasing, Size image, Random& random) {
  if (random.uniform() >= erasing.probability) return std::nullopt;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area =
        static_cast<double>(image.width * image.height) * random.uniform(erasing.scale.low, erasing.scale.high);
    const double ratio = std::exp(random.uniform(std::log(erasing.ratio.low), std::log(erasing.ratio.high)));
    const std::int64_t height = rounded(std::sqrt(area * ratio)), width = rounded(std::sqrt(area / ratio));
    if (!(height < image.height && width < image.width)) continue;
    const std::int64_t top = place(random, image.height - height), left = place(random, image.width - width);
    return Region{left, top, width, height};
  }
  return std::nullopt;
}

constexpr Size kSizes[] = {{500, 375}, {31, 90}, {9, 4}, {2, 2}, {1, 1}};

}  // namespace

TEST_CASE("crops are torchvision's, of draws in its order") {
  const step::RandomResizedCrop usual{.size = {1, 1}}, wide{.size = {1, 1}, .scale = {0.01, 1}, .ratio = {0.1, 2}};
  std::size_t drawn = 0;
  for (const Size size : kSizes) {
    for (std::uint64_t sample = 0; sample < 400; ++sample) {
      const step::RandomResizedCrop& crop = sample % 2 == 0 ? usual : wide;
      Random random(1, 0, sample, 9), again = random;
      const Region box = crop.box(size, random);
      const std::optional<Region> expected = crop_of(crop, size, again);
      if (!expected) continue;
      CHECK(box == *expected);
      CHECK(random.uniform() == again.uniform());  // as many draws
      ++drawn;
    }
  }
  CHECK(drawn > 1800);
}

TEST_CASE("erased boxes are torchvision's, of draws in its order, and there may be none") {
  const step::RandomErasing usual{.probability = 0.9}, tall{.probability = 1, .scale = {0, 1}, .ratio = {2, 20}};
  std::size_t drawn = 0, none = 0, empty = 0;
  for (const Size size : kSizes) {
    for (std::uint64_t sample = 0; sample < 400; ++sample) {
      const step::RandomErasing& erasing = sample % 2 == 0 ? usual : tall;
      Random random(1, 0, sample, 9), again = random;
      const std::optional<Region> box = erasing.box(size, random);
      CHECK(box == erased_of(erasing, size, again));
      CHECK(random.uniform() == again.uniform());
      ++(box ? drawn : none);
      if (box && (box->width == 0 || box->height == 0)) ++empty;
    }
  }
  CHECK(drawn > 1000);
  CHECK(none > 100);
  CHECK(empty > 10);
}

TEST_CASE("the box of a random_resized_crop keeps to area and ratio, and falls back to the middle") {
  const step::RandomResizedCrop crop{.size = {1, 1}};
  double least = 1, most = 0;
  for (std::uint64_t sample = 0; sample < 2000; ++sample) {
    Random random(1, 0, sample, 9);
    const Region box = crop.box({500, 375}, random);
    REQUIRE(box.x >= 0);
    REQUIRE(box.y >= 0);
    REQUIRE(box.x + box.width <= 500);
    REQUIRE(box.y + box.height <= 375);
    const double area = static_cast<double>(box.width * box.height) / (500.0 * 375.0);
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    CHECK(ratio > 0.74);
    CHECK(ratio < 1.35);
    least = std::min(least, area);
    most = std::max(most, area);
  }
  CHECK(least < 0.10);
  CHECK(least > 0.078);
  CHECK(most > 0.9);
  Random random(1, 0, 0, 9);
  const auto box = [&random](double least_ratio, double most_ratio, Size size) {
    return step::RandomResizedCrop{.size = {1, 1}, .scale = {0.9, 1.0}, .ratio = {least_ratio, most_ratio}}.box(size,
                                                                                                                random);
  };
  CHECK(box(0.75, 1.25, {1000, 10}) == Region{494, 0, 12, 10});
  CHECK(box(0.5, 1.25, {10, 1000}) == Region{0, 490, 10, 20});
  CHECK(box(0.1, 0.4, {9, 1}) == Region{4, 0, 1, 1});
}

}  // namespace penstock::test::random_box_test
