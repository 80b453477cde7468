#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/kernels/pixel_rows.hpp>
#include <transforms/image/kernels/resample.hpp>

#include "support/simd_levels.hpp"

namespace penstock::test::resample_test {
namespace {

struct Image {
  std::int64_t width, height, channels;
  std::vector<std::uint8_t> pixels;
  std::uint8_t at(std::int64_t x, std::int64_t y, std::int64_t c) const {
    return pixels[static_cast<std::size_t>((y * width + x) * channels + c)];
  }
  PixelSource source() const { return {pixels.data(), width * channels, channels, {0, 0, width, height}}; }
};

Image noise(std::int64_t width, std::int64_t height, std::int64_t channels) {
  Image image{width, height, channels, {}};
  std::mt19937 random(7);
  for (std::int64_t i = 0; i < width * height * channels; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(random()));
  }
  return image;
}

std::uint8_t weighed(const std::vector<std::uint8_t>& taps, std::span<const std::int32_t> weights) {
  std::int64_t sum = 1 << 21;
  for (std::size_t t = 0; t < taps.size(); ++t) sum += taps[t] * static_cast<std::int64_t>(weights[t]);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> 22, 0, 255));
}

/// Output pixel by pixel, straight from the definition: the sums along one axis rounded to bytes, then the other's.
Image resampled(const Image& in, const Geometry& g) {
  FilterWeights across, down;
  across.prepare({g.box_x - static_cast<double>(g.visible.x), g.box_width, g.visible.width, g.grid.width, g.window.x,
                  g.window.width},
                 g.interpolation);
  down.prepare({g.box_y - static_cast<double>(g.visible.y), g.box_height, g.visible.height, g.grid.height, g.window.y,
                g.window.height},
               g.interpolation);
  const std::int64_t lost_rows = g.visible.height - g.grid.height, lost_columns = g.visible.width - g.grid.width;
  const bool down_first = lost_rows > 0 && lost_rows > 2 * lost_columns;
  Image out{g.window.width, g.window.height, in.channels, {}};
  for (std::int64_t j = 0; j < out.height; ++j) {
    const std::int64_t y = g.flip_vertical ? out.height - 1 - j : j;
    for (std::int64_t i = 0; i < out.width; ++i) {
      const std::int64_t x = g.flip ? out.width - 1 - i : i;
      const auto first = down_first ? down.weights(y) : across.weights(x);
      const auto second = down_first ? across.weights(x) : down.weights(y);
      for (std::int64_t c = 0; c < in.channels; ++c) {
        std::vector<std::uint8_t> sums;
        for (std::int64_t s = 0; s < std::ssize(second); ++s) {
          std::vector<std::uint8_t> taps;
          for (std::int64_t t = 0; t < std::ssize(first); ++t) {
            taps.push_back(in.at(g.visible.x + across.begin(x) + (down_first ? s : t),
                                 g.visible.y + down.begin(y) + (down_first ? t : s), c));
          }
          sums.push_back(weighed(taps, first));
        }
        out.pixels.push_back(weighed(sums, second));
      }
    }
  }
  return out;
}

/// Rounds to nearest even by the definition of the format: `digits` bits of significand, the least exponent `lowest`.
double rounded(double value, int digits, int lowest) {
  if (value == 0) return value;
  int exponent;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - digits, lowest - digits + 1));
  return std::nearbyint(value / unit) * unit;
}

double half_value(std::uint16_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

double element(const std::vector<std::byte>& bytes, DType dtype, std::size_t i) {
  if (dtype == DType::u8) return static_cast<double>(std::to_integer<int>(bytes[i]));
  if (dtype == DType::f32) {
    float value;
    std::memcpy(&value, bytes.data() + i * 4, 4);
    return static_cast<double>(value);
  }
  std::uint16_t bits;
  std::memcpy(&bits, bytes.data() + i * 2, 2);
  if (dtype == DType::f16) return half_value(bits);
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return static_cast<double>(value);
}

const float kScale[4] = {0.0171247f, 0.0175070f, 0.0174292f, 1e-8f};
const float kBias[4] = {-2.1179039f, -2.0357141f, -1.8044444f, 0.0f};

double expected(std::uint8_t pixel, DType dtype, std::size_t c) {
  if (dtype == DType::u8) return pixel;
  const volatile float product = static_cast<float>(pixel) * kScale[c];  // volatile: two roundings
  const float value = product + kBias[c];
  if (dtype == DType::f16) return rounded(static_cast<double>(value), 11, -14);
  if (dtype == DType::bf16) return rounded(static_cast<double>(value), 8, -126);
  return static_cast<double>(value);
}

void check_output(const Image& in, const Geometry& g, DType dtype, bool channels_last, const Image& want) {
  Resampler resampler;
  std::vector<std::byte> out(want.pixels.size() * size_of(dtype) + 1);
  out.back() = std::byte{0xA5};
  PixelSink sink{.data = out.data(), .dtype = dtype, .channels_last = channels_last};
  std::copy(kScale, kScale + 4, sink.scale.begin());
  std::copy(kBias, kBias + 4, sink.bias.begin());
  resampler.run(in.source(), g, g.interpolation, sink);
  CHECK(out.back() == std::byte{0xA5});
  std::size_t wrong = 0;
  for (std::int64_t y = 0; y < want.height; ++y) {
    for (std::int64_t x = 0; x < want.width; ++x) {
      for (std::int64_t c = 0; c < want.channels; ++c) {
        const std::int64_t place =
            channels_last ? (y * want.width + x) * want.channels + c : (c * want.height + y) * want.width + x;
        const double value = element(out, dtype, static_cast<std::size_t>(place));
        wrong += value != expected(want.at(x, y, c), dtype, static_cast<std::size_t>(c));
      }
    }
  }
  CAPTURE(name(dtype));
  CAPTURE(channels_last);
  CHECK(wrong == 0);
}

void check_everywhere(const Image& in, const Geometry& g) {
  const Image want = resampled(in, g);
  at_each_level([&] {
    for (const DType dtype : {DType::u8, DType::f32, DType::f16, DType::bf16}) {
      for (const bool channels_last : {false, true}) check_output(in, g, dtype, channels_last, want);
    }
  });
}

}  // namespace

TEST_CASE("weights are Pillow's: halving takes four taps of 1/8 and 3/8, renormalised at the edge") {
  FilterWeights weights;
  weights.prepare({0.0, 8.0, 8, 4, 0, 4}, Interpolation::bilinear);
  const int one = 1 << 22;
  CHECK(weights.begin(1) == 1);
  CHECK(std::vector<int>(weights.weights(1).begin(), weights.weights(1).end()) ==
        std::vector<int>{one / 8, one * 3 / 8, one * 3 / 8, one / 8});
  CHECK(weights.begin(0) == 0);
  REQUIRE(weights.weights(0).size() == 3);
  CHECK(weights.weights(0)[0] == static_cast<int>(0.5 + one * (3.0 / 7.0)));
}

TEST_CASE("every SIMD level, dtype and layout gives the pixels of the definition") {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    CAPTURE(channels);
    const Image in = noise(61, 47, channels);
    const Geometry all = Geometry::identity({61, 47});
    check_everywhere(in, all);
    check_everywhere(in, all.flipped());
    check_everywhere(in, all.resized({17, 33}));
    check_everywhere(in, all.resized({59, 19}));
    check_everywhere(in, all.cropped({3, 1, 9, 45}).resized({33, 13}).cropped({2, 1, 30, 11}).flipped());
    check_everywhere(in, all.cropped({5, 7, 40, 21}).resized({24, 24}).flipped());
    check_everywhere(in, all.resized({90, 70}).cropped({13, 11, 47, 35}));
    check_everywhere(in, all.resized({30, 24}).cropped({3, 2, 20, 17}).resized({11, 9}));
  }
}

TEST_CASE("every SIMD level gives the pixels of the definition with each filter, upside down too") {
  for (const Interpolation filter : {Interpolation::area, Interpolation::bicubic}) {
    CAPTURE(choices(filter)[static_cast<std::size_t>(filter)]);
    for (const std::int64_t channels : {1, 3}) {
      const Image in = noise(61, 47, channels);
      const Geometry all = Geometry::identity({61, 47});
      check_everywhere(in, all.resized({17, 33}, filter).flipped_vertically());
      check_everywhere(in, all.resized({59, 19}, filter));
      check_everywhere(in, all.cropped({3, 1, 9, 45}).resized({33, 13}, filter).cropped({2, 1, 30, 11}).flipped());
      check_everywhere(in, all.flipped_vertically().resized({90, 70}, filter).cropped({13, 11, 47, 35}));
    }
  }
  check_everywhere(noise(61, 47, 3), Geometry::identity({61, 47}).flipped_vertically().cropped({3, 5, 20, 30}));
}

TEST_CASE("shapes of one pixel, and long thin ones") {
  check_everywhere(noise(1, 1, 3), Geometry::identity({1, 1}).resized({5, 3}));
  check_everywhere(noise(300, 1, 3), Geometry::identity({300, 1}).resized({1, 7}));
  check_everywhere(noise(2, 200, 3), Geometry::identity({2, 200}).cropped({1, 3, 1, 190}).resized({16, 16}));
}

TEST_CASE("a decoded region is enough, and its place does not matter") {
  const Image in = noise(100, 80, 3);
  const Geometry g = Geometry::identity({100, 80}).resized({50, 40}).cropped({10, 12, 20, 16});
  const Region needed = g.needed(support(Interpolation::bilinear));
  CHECK(needed.width < 50);
  std::vector<std::uint8_t> part;
  for (std::int64_t y = 0; y < needed.height; ++y) {
    const auto row = in.pixels.begin() + ((needed.y + y) * 100 + needed.x) * 3;
    part.insert(part.end(), row, row + needed.width * 3);
  }
  std::vector<std::byte> whole(20 * 16 * 3), partial(20 * 16 * 3);
  Resampler resampler;
  resampler.run(in.source(), g, Interpolation::bilinear, {.data = whole.data()});
  resampler.run({part.data(), needed.width * 3, 3, needed}, g, Interpolation::bilinear, {.data = partial.data()});
  CHECK(whole == partial);
  const Region smaller{needed.x + 1, needed.y, needed.width - 1, needed.height};
  CHECK_THROWS_AS(
      resampler.run({part.data(), needed.width * 3, 3, smaller}, g, Interpolation::bilinear, {.data = partial.data()}),
      Error);
}

TEST_CASE("masks keep their values: nearest takes the pixel under each centre") {
  Image mask{8, 2, 1, {0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17}};
  std::vector<std::byte> out(4);
  Resampler resampler;
  resampler.run(mask.source(), Geometry::identity({8, 2}).resized({4, 1}), Interpolation::nearest,
                {.data = out.data()});
  CHECK(out == std::vector<std::byte>{std::byte{11}, std::byte{13}, std::byte{15}, std::byte{17}});
  resampler.run(mask.source(), Geometry::identity({8, 2}).cropped({2, 0, 4, 1}).resized({2, 2}).flipped(),
                Interpolation::nearest, {.data = out.data()});
  CHECK(out == std::vector<std::byte>{std::byte{5}, std::byte{3}, std::byte{5}, std::byte{3}});
}

TEST_CASE("other types and more channels are refused") {
  const Image in = noise(4, 4, 3);
  std::vector<std::byte> out(4 * 4 * 3 * 8);
  Resampler resampler;
  const Geometry g = Geometry::identity({4, 4});
  CHECK_THROWS_AS(resampler.run(in.source(), g, Interpolation::bilinear, {.data = out.data(), .dtype = DType::f64}),
                  Error);
  PixelSource five = in.source();
  five.channels = 5;
  CHECK_THROWS_AS(resampler.run(five, g, Interpolation::bilinear, {.data = out.data()}), Error);
}

}  // namespace penstock::test::resample_test
