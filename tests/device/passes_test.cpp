// What the passes compute, on the processor: against plain formulas.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/device/host_device.hpp>
#include <penstock/formats/error.hpp>

using namespace penstock;

namespace {

std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::minstd_rand random(3);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() >> 8);
  return bytes;
}

// Of binary16, by its definition.
double value_of_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

constexpr float kMean[] = {0.485F, 0.456F, 0.406F}, kDeviation[] = {0.229F, 0.224F, 0.225F};

}  // namespace

TEST_CASE("images are normalized, cropped and mirrored into either layout") {
  constexpr int kRows = 3, kHeight = 7, kWidth = 9, kOutHeight = 4, kOutWidth = 6;
  const auto in = random_bytes(kRows * kHeight * kWidth * 3);
  const std::vector<ImageCrop> crops{{0, 0, 0}, {3, 3, 1}, {1, 2, 1}};
  for (const bool channels_last : {false, true}) {
    std::vector<float> out(kRows * kOutHeight * kOutWidth * 3);
    ImagePass pass{.in = in.data(), .out = out.data(), .crops = crops.data(), .rows = kRows};
    pass.in_height = kHeight, pass.in_width = kWidth, pass.height = kOutHeight, pass.width = kOutWidth;
    pass.channels_last = channels_last;
    normalize(pass, kMean, kDeviation);
    run_on_host(pass);
    for (int n = 0; n < kRows; ++n) {
      for (int y = 0; y < kOutHeight; ++y) {
        for (int x = 0; x < kOutWidth; ++x) {
          for (int c = 0; c < 3; ++c) {
            const ImageCrop crop = crops[static_cast<std::size_t>(n)];
            const int from_x = crop.x + (crop.flip != 0 ? kOutWidth - 1 - x : x);
            const double level = in[static_cast<std::size_t>(((n * kHeight + crop.y + y) * kWidth + from_x) * 3 + c)];
            const double expected = (level / 255 - static_cast<double>(kMean[c])) / static_cast<double>(kDeviation[c]);
            const int at = channels_last ? ((n * kOutHeight + y) * kOutWidth + x) * 3 + c
                                         : ((n * 3 + c) * kOutHeight + y) * kOutWidth + x;
            CHECK(std::abs(static_cast<double>(out[static_cast<std::size_t>(at)]) - expected) < 1e-6);
          }
        }
      }
    }
  }
}

TEST_CASE("narrower types are rounded to nearest even") {
  std::vector<std::uint8_t> in(256);
  for (std::size_t i = 0; i < 256; ++i) in[i] = static_cast<std::uint8_t>(i);
  for (const float scale : {1.0F, 257.0F, 1e-3F, 2e-8F, 300.0F}) {
    std::vector<std::uint16_t> halves(256), brains(256);
    ImagePass pass{.in = in.data(), .out = halves.data(), .rows = 1, .channels = 1};
    pass.in_height = pass.height = 16, pass.in_width = pass.width = 16;
    pass.dtype = DType::f16;
    pass.scale[0] = scale;
    run_on_host(pass);
    pass.dtype = DType::bf16;
    pass.out = brains.data();
    run_on_host(pass);
    for (std::size_t i = 0; i < 256; ++i) {
      const float exact = static_cast<float>(i) * scale;
      if (exact < 65520.0F) {
        const double half = value_of_half(halves[i]);
        const double error = std::abs(half - static_cast<double>(exact));
        for (const int step : {-1, 1}) {
          const auto beside = static_cast<std::uint16_t>(halves[i] + step);
          if (halves[i] == 0 && step < 0) continue;
          const double other = std::abs(value_of_half(beside) - static_cast<double>(exact));
          CHECK((beside & 0x7fff) < 0x7c01);
          CHECK((error < other || (error == other && halves[i] % 2 == 0)));
        }
      } else {
        CHECK(halves[i] == 0x7c00);
      }
      const float brain = std::bit_cast<float>(static_cast<std::uint32_t>(brains[i]) << 16);
      CHECK(std::abs(brain - exact) <= std::abs(exact) / 256);
    }
  }
}

TEST_CASE("points are taken by number, shrunk, turned and moved") {
  constexpr int kClouds = 4, kIn = 50, kOut = 20, kColumns = 5;
  std::minstd_rand random(5);
  std::vector<float> in(kClouds * kIn * kColumns);
  for (float& value : in) value = static_cast<float>(random() % 2001) / 100 - 10;
  std::vector<std::int32_t> numbers(kClouds * kOut);
  for (std::int32_t& number : numbers) number = static_cast<std::int32_t>(random() % kIn);
  std::vector<float> turns;
  for (int n = 0; n < kClouds; ++n) {
    const auto angle = static_cast<float>(n);
    for (const float v : {std::cos(angle), -std::sin(angle), 0.F, std::sin(angle), std::cos(angle), 0.F, 0.F, 0.F, 1.F})
      turns.push_back(v);
  }
  std::vector<float> out(kClouds * kOut * kColumns);
  PointPass pass{.in = in.data(), .out = out.data(), .numbers = numbers.data(), .rotations = turns.data()};
  pass.clouds = kClouds, pass.in_points = kIn, pass.points = kOut, pass.columns = kColumns, pass.unit = true;
  run_on_host(pass);
  for (int n = 0; n < kClouds; ++n) {
    double longest = 0;
    for (int i = 0; i < kOut; ++i) {
      const float* row =
          &in[static_cast<std::size_t>((n * kIn + numbers[static_cast<std::size_t>(n * kOut + i)]) * kColumns)];
      longest = std::max(longest, std::hypot(static_cast<double>(row[0]), row[1], row[2]));
    }
    for (int i = 0; i < kOut; ++i) {
      const float* row =
          &in[static_cast<std::size_t>((n * kIn + numbers[static_cast<std::size_t>(n * kOut + i)]) * kColumns)];
      const float* found = &out[static_cast<std::size_t>((n * kOut + i) * kColumns)];
      const double x = static_cast<double>(row[0]) / longest, y = static_cast<double>(row[1]) / longest;
      CHECK(std::abs(static_cast<double>(found[0]) - (std::cos(n) * x - std::sin(n) * y)) < 1e-6);
      CHECK(std::abs(static_cast<double>(found[1]) - (std::sin(n) * x + std::cos(n) * y)) < 1e-6);
      CHECK(std::abs(static_cast<double>(found[2]) - static_cast<double>(row[2]) / longest) < 1e-6);
      CHECK(found[3] == row[3]);
      CHECK(found[4] == row[4]);
    }
  }
}

TEST_CASE("jitter is normal, clipped, and a function of seed, key and point alone") {
  constexpr int kPoints = 20000;
  const std::vector<float> in(2 * kPoints * 3, 0);
  const auto draws = [&](std::uint64_t seed, std::array<std::uint64_t, 2> keys, float clip) {
    std::vector<float> out(2 * kPoints * 3);
    PointPass pass{.in = in.data(), .out = out.data(), .keys = keys.data()};
    pass.clouds = 2, pass.in_points = pass.points = kPoints;
    pass.sigma = 0.5F, pass.clip = clip, pass.seed = seed;
    run_on_host(pass);
    return out;
  };
  const auto once = draws(1, {10, 11}, 100);
  CHECK(draws(1, {10, 11}, 100) == once);
  CHECK(draws(2, {10, 11}, 100) != once);
  const auto swapped = draws(1, {11, 10}, 100);
  CHECK(std::equal(once.begin(), once.begin() + kPoints * 3, swapped.begin() + kPoints * 3));
  for (int axis = 0; axis < 3; ++axis) {
    double sum = 0, squares = 0, cubes = 0;
    for (int i = 0; i < kPoints; ++i) {
      const auto draw = static_cast<double>(once[static_cast<std::size_t>(i * 3 + axis)]) / 0.5;
      sum += draw, squares += draw * draw, cubes += draw * draw * draw;
    }
    CHECK(std::abs(sum / kPoints) < 0.03);
    CHECK(std::abs(squares / kPoints - 1) < 0.05);
    CHECK(std::abs(cubes / kPoints) < 0.12);
  }
  for (const float value : draws(1, {10, 11}, 0.25F)) CHECK(std::abs(value) <= 0.25F);
}

TEST_CASE("passes that no device has are refused before they are enqueued") {
  const std::uint8_t pixel = 0;
  float out = 0;
  ImagePass image{.in = &pixel, .out = &out, .rows = 1, .channels = 1};
  image.in_height = image.in_width = image.height = image.width = 1;
  check(image);
  HostDevice device(0);
  const auto refused = [&](auto change) {
    ImagePass changed = image;
    change(changed);
    CHECK_THROWS_AS(device.run(changed, kDefaultStream), Error);
  };
  refused([](ImagePass& pass) { pass.in = nullptr; });
  refused([](ImagePass& pass) { pass.rows = 0; });
  refused([](ImagePass& pass) { pass.rows = 70000; });
  refused([](ImagePass& pass) { pass.channels = 2; });
  refused([](ImagePass& pass) { pass.width = 2; });
  refused([](ImagePass& pass) { pass.dtype = DType::i64; });
  const float point[3] = {};
  PointPass points{.in = point, .out = &out};
  points.clouds = points.in_points = points.points = 1;
  check(points);
  points.sigma = 1;
  CHECK_THROWS_AS(check(points), Error);
  points = {.in = point, .out = &out};
  points.clouds = points.in_points = 1, points.points = 2;
  CHECK_THROWS_AS(check(points), Error);
}
