// Tests the tables of a resample: the same bytes as a Resampler's, and nothing read outside the image.
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <device/host/host_device.hpp>
#include <device/passes.hpp>
#include <penstock/error.hpp>
#include <transforms/image/kernels/resample.hpp>
#include <transforms/image/kernels/resample_tables.hpp>

namespace penstock::test::resample_tables_test {
namespace {

/// A copy of exactly as many bytes, so that sanitizers see what is read behind them.
std::unique_ptr<std::uint8_t[]> noise(std::size_t bytes, std::mt19937& random) {
  auto pixels = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
  for (std::size_t i = 0; i < bytes; ++i) pixels[i] = static_cast<std::uint8_t>(random());
  return pixels;
}

std::int64_t below(std::mt19937& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(bound));
}

Region part_of(Size size, std::mt19937& random) {
  const std::int64_t width = 1 + below(random, size.width), height = 1 + below(random, size.height);
  return {below(random, size.width - width + 1), below(random, size.height - height + 1), width, height};
}

Geometry any_geometry(Size source, std::mt19937& random) {
  constexpr Interpolation kAll[] = {Interpolation::nearest, Interpolation::area, Interpolation::bilinear,
                                    Interpolation::bicubic};
  Geometry geometry = Geometry::identity(source);
  for (std::int64_t steps = 1 + below(random, 4); steps > 0; --steps) {
    switch (below(random, 5)) {
      case 0:
        geometry = geometry.cropped(part_of(geometry.output(), random));
        break;
      case 1:
        geometry = geometry.flipped();
        break;
      case 2:
        geometry = geometry.flipped_vertically();
        break;
      default:
        geometry = geometry.resized({1 + below(random, 70), 1 + below(random, 70)}, kAll[below(random, 4)]);
    }
  }
  return geometry;
}

std::vector<std::uint8_t> by_tables(const std::uint8_t* pixels, const Geometry& geometry,
                                    ResampleTabulator& tabulator) {
  ResampleTables tables;
  tabulator.tabulate(geometry, tables);
  const Size out = geometry.output();
  const auto width = static_cast<std::size_t>(out.width), height = static_cast<std::size_t>(out.height);
  REQUIRE(tables.numbers.size() == width * (1 + static_cast<std::size_t>(tables.taps_x)) +
                                       height * (1 + static_cast<std::size_t>(tables.taps_y)));
  std::vector<std::uint8_t> made(3 * width * height);
  ResamplePass pass{
      .images = 1, .height = static_cast<std::int32_t>(out.height), .width = static_cast<std::int32_t>(out.width)};
  pass.image[0] = {.pixels = pixels,
                   .pitch = 3 * geometry.source.width,
                   .out = made.data(),
                   .tables = tables.numbers.data(),
                   .taps_x = tables.taps_x,
                   .taps_y = tables.taps_y,
                   .vertical_first = tables.vertical_first,
                   .flip = tables.flip,
                   .flip_vertical = tables.flip_vertical};
  check(pass);
  run_on_host(pass);
  return made;
}

}  // namespace

TEST_CASE("a pass by tables makes the bytes that the resampler makes, of any crop, resize and flip") {
  std::mt19937 random(9);
  Resampler resampler;
  ResampleTabulator tabulator;
  int resampled = 0, vertical_first = 0;
  for (int round = 0; round < 3000; ++round) {
    const bool tall = round % 5 == 0;
    const Size source{1 + below(random, tall ? 40 : 150), 1 + below(random, tall ? 400 : 150)};
    const auto pixels = noise(static_cast<std::size_t>(3 * source.width * source.height), random);
    const Geometry geometry = any_geometry(source, random);
    const Size out = geometry.output();
    std::vector<std::uint8_t> expected(static_cast<std::size_t>(3 * out.width * out.height));
    resampler.run({pixels.get(), 3 * source.width, 3, {0, 0, source.width, source.height}}, geometry,
                  geometry.interpolation,
                  {.data = reinterpret_cast<std::byte*>(expected.data()), .dtype = DType::u8, .channels_last = true});
    CAPTURE(round);
    REQUIRE(by_tables(pixels.get(), geometry, tabulator) == expected);
    resampled += geometry.resamples() ? 1 : 0;
    ResampleTables tables;
    tabulator.tabulate(geometry, tables);
    vertical_first += tables.vertical_first ? 1 : 0;
  }
  CHECK(resampled > 1000);
  CHECK(vertical_first > 50);
}

TEST_CASE("what a pass cannot be is refused") {
  const std::uint8_t pixel[3] = {};
  std::uint8_t out[3];
  const std::int32_t tables[4] = {0, 1 << 22, 0, 1 << 22};
  ResamplePass good{.images = 1, .height = 1, .width = 1};
  good.image[0] = {.pixels = pixel, .pitch = 3, .out = out, .tables = tables};
  CHECK_NOTHROW(check(good));
  const auto refused = [&](auto change) {
    ResamplePass pass = good;
    change(pass);
    CHECK_THROWS_AS(check(pass), Error);
  };
  refused([](ResamplePass& pass) { pass.images = 0; });
  refused([](ResamplePass& pass) { pass.images = ResamplePass::kMostImages + 1; });
  refused([](ResamplePass& pass) { pass.width = 0; });
  refused([](ResamplePass& pass) { pass.height = pass.width = 40'000; });
  refused([](ResamplePass& pass) { pass.image[0].pixels = nullptr; });
  refused([](ResamplePass& pass) { pass.image[0].taps_y = 0; });
}

}  // namespace penstock::test::resample_tables_test
