// Augmentations: what Pillow cannot tell. Their pixels are compared with Pillow's by
// tests/python/test_augment_*.py.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/kernels/color_rows.hpp>
#include <transforms/image/kernels/pixel_rows.hpp>
#include <transforms/image/passes/color_ops.hpp>
#include <transforms/image/passes/placement.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"
#include "support/simd_levels.hpp"

namespace penstock::test::augment_test {
namespace {

const Chain kNormalize = image::normalize({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F});

Fields photograph(std::int64_t width, std::int64_t height) {
  Fields fields;
  fields.add({.name = "png", .codec = "png"}, png(picture(width, height, 3, 5)));
  return fields;
}

std::vector<Bytes> rows_of(const Fields& fields, const Chain& chain, std::uint64_t samples, std::uint64_t epoch = 0) {
  const std::vector<FieldChain> chains{{"png", chain}};
  const Program program(chains, fields.catalog());
  SlotFiller filler(program);
  std::vector<Bytes> rows;
  for (std::uint64_t sample = 0; sample < samples; ++sample)
    rows.push_back(fill(program, filler, fields, {.seed = 3, .epoch = epoch, .sample = sample})[0]);
  return rows;
}

const std::map<std::string, Chain> kChains{
    {"crop", image::random_crop(20, {.padding = Padding::all(4), .padding_mode = "reflect"})},
    {"rotation", image::random_rotation({-30, 30}, "bilinear")},
    {"affine", image::random_affine({-9, 9}, {.translate_x = 0.2, .scale = {0.5, 2}, .interpolation = "bicubic"})},
    {"jitter", image::color_jitter(0.4, 0.4, 0.4, 0.1)},
    {"gray", image::random_grayscale(0.5) | image::random_solarize(100) | image::random_posterize(3)},
    {"sharp", image::random_sharpness(2) | image::random_invert() | image::random_equalize()},
    {"blur", image::gaussian_blur(5)},
    {"rand", image::rand_augment()},
    {"trivial", image::trivial_augment()},
    {"bicubic", image::random_resized_crop(17, {0.1, 1}, {0.5, 2}, "bicubic")},
    {"erased", kNormalize | image::random_erasing({.probability = 1, .value = {}})},
};

}  // namespace

TEST_CASE("every augmentation gives the same bytes at every SIMD level, and for the same sample again") {
  for (const auto& [name, chain] : kChains) {
    CAPTURE(name);
    const Fields fields = photograph(37, 29);
    const auto expected = rows_of(fields, chain, 12);
    CHECK(rows_of(fields, chain, 12, 1) != expected);
    CHECK(std::set<Bytes>(expected.begin(), expected.end()).size() > 1);
    at_each_level([&] { CHECK(rows_of(fields, chain, 12) == expected); });
  }
}

TEST_CASE("pixels past the end of a picture stay, whatever its size") {
  for (const std::int64_t width : {1, 2, 3, 5, 16, 17, 63, 65}) {
    for (const std::int64_t channels : {1, 3}) {
      const std::size_t bytes = static_cast<std::size_t>(width * 3 * channels);
      std::vector<std::uint8_t> pixels(bytes + color_rows::kSpare), same = pixels;
      ColorRunner runner;
      for (const ColorKind kind : {ColorKind::brightness, ColorKind::contrast, ColorKind::saturation, ColorKind::hue,
                                   ColorKind::posterize, ColorKind::solarize, ColorKind::sharpness,
                                   ColorKind::autocontrast, ColorKind::equalize, ColorKind::grayscale}) {
        PixelBuffer buffer{pixels.data(), {width, 3}, channels};
        runner.run({kind, kind == ColorKind::grayscale ? 3.0 : 0.25}, buffer);
      }
      CHECK(pixels.size() == same.size());  // the sanitizers look at the rest
    }
  }
}

TEST_CASE("an augmentation beside a crop changes no draw of another output, and two views differ") {
  const Fields fields = photograph(37, 29);
  const Chain chain = image::trivial_augment() | image::random_crop(20);
  const std::vector<FieldChain> alone{{"a", field("png") | chain}};
  const std::vector<FieldChain> both{{"b", field("png") | chain}, {"a", field("png") | chain}};
  const Program one(alone, fields.catalog()), two(both, fields.catalog());
  const auto first = fill(one, fields, {.seed = 9, .sample = 4}), second = fill(two, fields, {.seed = 9, .sample = 4});
  CHECK(first[0] == second[1]);
  CHECK(second[0] != second[1]);
}

TEST_CASE("padding goes on as numpy.pad has it, also far beyond the image") {
  const auto line = [](std::int64_t count, PaddingMode mode) {
    std::vector<std::int64_t> places;
    for (std::int64_t place = -5; place < count + 5; ++place) places.push_back(continued(place, count, mode));
    return places;
  };
  using Line = std::vector<std::int64_t>;
  CHECK(line(3, PaddingMode::constant) == Line{-1, -1, -1, -1, -1, 0, 1, 2, -1, -1, -1, -1, -1});
  CHECK(line(3, PaddingMode::edge) == Line{0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2});
  CHECK(line(3, PaddingMode::reflect) == Line{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1});
  CHECK(line(3, PaddingMode::symmetric) == Line{1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1});
  CHECK(line(1, PaddingMode::reflect) == Line(11, 0));
}

TEST_CASE("only the pixels that a window of padding or of a rotation shows are asked for") {
  Placement placement;
  placement.begin({100, 80});
  placement.pad(Padding::all(10), PaddingMode::constant, {});
  placement.crop({0, 5, 30, 20});
  placement.finish();
  CHECK(placement.needed(false) == Region{0, 0, 20, 15});
  placement.begin({100, 80});
  placement.pad(Padding::all(10), PaddingMode::reflect, {});
  placement.crop({0, 5, 30, 20});
  placement.finish();
  CHECK(placement.needed(false) == Region{0, 0, 20, 15});
  placement.begin({100, 80});
  placement.pad({200, 0, 0, 0}, PaddingMode::edge, {});
  placement.crop({0, 0, 10, 80});
  placement.finish();
  CHECK(placement.needed(false) == Region{0, 0, 1, 80});
  placement.begin({1000, 800});
  placement.resize({500, 400}, Interpolation::bilinear);
  placement.warp(rotation(90, {500, 400}), Interpolation::bilinear, {});
  placement.crop({240, 190, 20, 20});
  placement.finish();
  const Region needed = placement.needed(false);
  CHECK(needed.width < 70);
  CHECK(needed.height < 70);
  placement.begin({64, 64});
  placement.color({ColorKind::contrast, 2});
  placement.crop({0, 0, 8, 8});
  placement.finish();
  CHECK(placement.needed(false) == Region{0, 0, 64, 64});
  CHECK(placement.needed(true) == Region{0, 0, 8, 8});
}

TEST_CASE("points and boxes go through flips, pads and rotations as pixels do") {
  Placement placement;
  placement.begin({40, 30});
  placement.flip_vertically();
  placement.pad({5, 2, 0, 0}, PaddingMode::edge, {});
  double x = 10, y = 30;  // the lower edge, which the flip moves to the top
  placement.map_point(x, y);
  CHECK(x == 15);
  CHECK(y == 2);
  placement.begin({40, 40});
  placement.warp(rotation(90, {40, 40}), Interpolation::nearest, {});
  x = 40, y = 0;  // counterclockwise: the upper right corner comes to the upper left
  placement.map_point(x, y);
  CHECK(std::abs(x) < 1e-9);
  CHECK(std::abs(y) < 1e-9);
  double box[4] = {30, 0, 40, 10};
  placement.map_box(box);
  CHECK(std::abs(box[0]) + std::abs(box[1]) + std::abs(box[2] - 10) + std::abs(box[3] - 10) < 1e-9);
  placement.begin({40, 40});
  placement.warp(rotation(45, {40, 40}), Interpolation::nearest, {});
  double whole[4] = {0, 0, 40, 40};
  placement.map_box(whole);
  CHECK(whole[0] == 0);
  CHECK(whole[3] == 40);
}

TEST_CASE("chains of augmentations read back as they were written, and are told apart by the version") {
  for (const auto& [name, chain] : kChains) {
    CHECK(to_string(parse_chain(to_string(chain))) == to_string(chain));
    CHECK(parse_chain(to_string(chain)).misuse.empty());
  }
  const auto reads_as = [](const char* text, const Chain& chain) {
    CHECK(to_string(parse_chain(text)) == to_string(chain));
  };
  reads_as("image.random_crop(32, padding=4)", image::random_crop(32, {.padding = Padding::all(4)}));
  reads_as("image.random_crop((3, 4), padding=[1, 2], padding_mode=edge, pad_if_needed=True)",
           image::random_crop(3, 4, {.padding = {1, 2, 1, 2}, .pad_if_needed = true, .padding_mode = "edge"}));
  reads_as("image.color_jitter(0.4, hue=0.1)", image::color_jitter(0.4, 0, 0, 0.1));
  reads_as("image.random_affine(10, shear=5)", image::random_affine({-10, 10}, {.shear_x = {-5, 5}}));
  reads_as("image.gaussian_blur(23, sigma=(0.1, 2), probability=0.5)", image::gaussian_blur(23, {0.1, 2}, 0.5));
  reads_as("image.rand_augment(magnitude=5, fill=(1, 2, 3))", image::rand_augment(2, 5, 31, "nearest", {1, 2, 3}));
  reads_as("label(10)", label(10));
  const Fields fields = photograph(9, 9);
  const auto version = [&](const Chain& chain) {
    const std::vector<FieldChain> chains{{"png", chain}};
    return Program(chains, fields.catalog()).version();
  };
  CHECK(version(image::resize(5)) != version(image::resize(5, "area")));
}

TEST_CASE("label(num_classes) is 1 at the class, and a class outside of them is a data fault") {
  Fields fields;
  fields.add({.name = "cls", .codec = "cls"}, to_bytes("2"));
  const std::vector<FieldChain> chains{{"cls", label(4)}};
  const Program program(chains, fields.catalog());
  CHECK(program.outputs()[0].shape == Shape{4});
  CHECK(elements<float>(fill(program, fields)[0]) == std::vector<float>{0, 0, 1, 0});
  fields.values[0] = to_bytes("4");
  CHECK_THROWS_WITH(fill(program, fields), doctest::Contains("class 4 is out of range: label() has num_classes=4"));
}

}  // namespace penstock::test::augment_test
