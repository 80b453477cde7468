#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/passes/placement.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"

namespace penstock::test::follow_test {
namespace {

constexpr std::int64_t kWidth = 96, kHeight = 64;

// Red rises with x, green with y: a pixel tells where it comes from.
Picture coordinates() {
  Picture result{kWidth, kHeight, 3, {}};
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      for (const std::int64_t value : {2 * x, 3 * y, std::int64_t{0}}) {
        result.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return result;
}

// Stripes of 8 x 8 pixels, numbered.
std::int64_t tile(std::int64_t x, std::int64_t y) {
  return x / 8 + y / 8 * (kWidth / 8);
}

template <typename T>
std::vector<T> tiles() {
  std::vector<T> values;
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) values.push_back(static_cast<T>(tile(x, y)));
  }
  return values;
}

Fields scene() {
  Fields fields;
  fields.add({.name = "png", .codec = "png"}, png(coordinates()));
  fields.add({.name = "seg.png", .codec = "png"}, png({kWidth, kHeight, 1, tiles<std::uint8_t>()}));
  fields.add({.name = "deep.npy", .codec = "npy"}, npy("<i8", {kHeight, kWidth}, to_bytes(tiles<std::int64_t>())));
  fields.add({.name = "boxes.json", .codec = "json"}, to_bytes("[[10, 20, 50, 60], [0, 0, 4, 4], [30.5, 8, 31, 9]]"));
  fields.add({.name = "points.npy", .codec = "npy"}, npy("<f4", {2, 2}, to_bytes(std::vector<float>{24, 16, 70, 40})));
  return fields;
}

const Chain kCrop = image::random_resized_crop(32, {0.2, 1.0}) | image::random_horizontal_flip();

std::string failure(const Fields& fields, const std::vector<FieldChain>& chains) {
  try {
    const Program program(chains, fields.catalog());
    fill(program, fields, {.key = "k"});
    return "nothing thrown";
  } catch (const Error& error) {
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a box that ends before it begins is bad data, told with its numbers") {
  const std::vector<FieldChain> keep{{"boxes.json", follow("png") | boxes()}, {"png", kCrop}};
  const std::vector<FieldChain> drop{{"boxes.json", follow("png") | boxes({.min_size = 1})}, {"png", kCrop}};
  for (const auto& [stored, told] : std::vector<std::pair<std::string, std::string>>{
           {"[[1, 2, 3, 4], [50, 20, 30, 40]]", "item 1 is [50, 20, 30, 40], not a box x0, y0, x1, y1"},
           {"[[1, 20.5, 3, 4]]", "item 0 is [1, 20.5, 3, 4], not a box"},
           {"[[1, 2, 1, 2], [-5, -5, 200, 300], [1, 2, 3, 2]]", "nothing thrown"}}) {
    CAPTURE(stored);
    Fields fields = scene();
    fields.values[3] = to_bytes(stored);
    CHECK(contains(failure(fields, keep), told));
    CHECK(contains(failure(fields, drop), told));
  }
}

TEST_CASE("masks, boxes and points stay aligned with their image through crop, resize and flip") {
  const Fields fields = scene();
  const std::vector<FieldChain> chains{{"seg.png", follow("png")},
                                       {"deep.npy", follow("png")},
                                       {"boxes.json", follow("png") | boxes()},
                                       {"points.npy", follow("png") | keypoints()},
                                       {"png", kCrop}};
  const Program program(chains, fields.catalog());
  CHECK(program.order().front() == 4);
  CHECK(program.outputs()[0].shape == Shape{32, 32});
  CHECK(program.outputs()[1].dtype == DType::i64);
  SlotFiller filler(program);
  for (std::uint64_t sample = 0; sample < 50; ++sample) {
    const auto rows = fill(program, filler, fields, {.seed = 5, .epoch = 1, .sample = sample});
    const auto pixels = elements<std::uint8_t>(rows[4]), mask = elements<std::uint8_t>(rows[0]);
    const auto deep = elements<std::int64_t>(rows[1]);
    const Geometry geometry = filler.placement(4)->geometry();
    for (std::size_t i = 0; i < mask.size(); ++i) {
      REQUIRE(deep[i] == mask[i]);
      // Where the image says this pixel lies, give or take a pixel; the mask must agree wherever that is not on an
      // edge.
      const double x = pixels[i] / 2.0 + 0.5, y = pixels[1024 + i] / 3.0 + 0.5;
      const double from_edge_x = std::abs(x / 8 - std::round(x / 8)) * 8,
                   from_edge_y = std::abs(y / 8 - std::round(y / 8)) * 8;
      const std::size_t column = i % 32, row = i / 32;
      const bool on_border = column == 0 || row == 0 || column == 31 || row == 31;
      if (from_edge_x < 1.6 || from_edge_y < 1.6 || on_border) continue;
      REQUIRE(mask[i] == tile(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y)));
    }
    const auto points = elements<float>(rows[3]);
    REQUIRE(points.size() == 4);
    for (std::size_t p = 0; p < 2; ++p) {
      double x = p == 0 ? 24 : 70, y = p == 0 ? 16 : 40;
      const double source_x = x, source_y = y;
      geometry.map_point(x, y);
      CHECK(points[p * 2] == static_cast<float>(x));
      CHECK(points[p * 2 + 1] == static_cast<float>(y));
      const auto column = static_cast<std::int64_t>(std::floor(x)), row = static_cast<std::int64_t>(std::floor(y));
      if (column < 1 || row < 1 || column > 30 || row > 30) continue;
      const auto at = static_cast<std::size_t>(row * 32 + column);
      const double reach = 1.0 + geometry.box_width / 32;
      CHECK(std::abs(pixels[at] / 2.0 + 0.5 - source_x) < reach);
      CHECK(std::abs(pixels[1024 + at] / 3.0 + 0.5 - source_y) < reach);
    }
    const auto moved = elements<float>(rows[2]);
    REQUIRE(moved.size() == 12);
    for (std::size_t b = 0; b < 12; b += 4) {
      CHECK(moved[b] <= moved[b + 2]);
      CHECK(moved[b + 1] <= moved[b + 3]);
      for (std::size_t i = b; i < b + 4; ++i) CHECK((moved[i] >= 0 && moved[i] <= 32));
    }
  }
}

TEST_CASE("masks and points stay aligned with their image through every pass that moves pixels") {
  const Fields fields = scene();
  const std::vector<Chain> moves{
      image::random_vertical_flip(1) | image::random_crop(40, {.padding = Padding::all(20), .fill = {0, 0, 255}}),
      image::random_crop(30, 50, {.padding = {9, 3, 1, 40}, .fill = {0, 0, 255}}) | image::random_horizontal_flip(1),
      image::random_rotation({-180, 180}, "nearest", {0, 0, 255}) | image::center_crop(48),
      image::random_horizontal_flip(1) | image::random_affine({-30, 30}, {.translate_x = 0.2,
                                                                          .translate_y = 0.2,
                                                                          .scale = {0.7, 1.4},
                                                                          .shear_x = {-20, 20},
                                                                          .shear_y = {-10, 10},
                                                                          .fill = {0, 0, 255}})};
  for (const Chain& move : moves) {
    CAPTURE(to_string(move));
    const std::vector<FieldChain> chains{{"png", move},
                                         {"seg.png", follow("png")},
                                         {"deep.npy", follow("png")},
                                         {"boxes.json", follow("png") | boxes()},
                                         {"points.npy", follow("png") | keypoints()}};
    const Program program(chains, fields.catalog());
    const std::int64_t height = program.outputs()[0].shape[1], width = program.outputs()[0].shape[2];
    SlotFiller filler(program);
    for (std::uint64_t sample = 0; sample < 20; ++sample) {
      const auto rows = fill(program, filler, fields, {.seed = 2, .epoch = 0, .sample = sample});
      const auto pixels = elements<std::uint8_t>(rows[0]), mask = elements<std::uint8_t>(rows[1]);
      const auto deep = elements<std::int64_t>(rows[2]);
      const auto plane = static_cast<std::size_t>(width * height);
      for (std::size_t i = 0; i < plane; ++i) {
        const bool filled = pixels[2 * plane + i] == 255;
        REQUIRE(mask[i] == (filled ? 0 : tile(pixels[i] / 2, pixels[plane + i] / 3)));
        REQUIRE(deep[i] == mask[i]);
      }
      const auto points = elements<float>(rows[4]);
      const double source[2][2] = {{24, 16}, {70, 40}};
      for (std::size_t p = 0; p < 2; ++p) {
        const auto x = static_cast<std::int64_t>(std::floor(points[p * 2])),
                   y = static_cast<std::int64_t>(std::floor(points[p * 2 + 1]));
        if (x < 0 || y < 0 || x >= width || y >= height) continue;
        const auto at = static_cast<std::size_t>(y * width + x);
        if (pixels[2 * plane + at] == 255) continue;
        CHECK(std::abs(pixels[at] / 2 + 0.5 - source[p][0]) < 3);
        CHECK(std::abs(pixels[plane + at] / 3 + 0.5 - source[p][1]) < 3);
      }
      const auto moved = elements<float>(rows[3]);
      for (std::size_t b = 0; b < 12; b += 4) {
        CHECK(moved[b] <= moved[b + 2]);
        CHECK(moved[b + 1] <= moved[b + 3]);
        for (std::size_t i = b; i < b + 4; ++i)
          CHECK((moved[i] >= 0 && moved[i] <= static_cast<float>(i % 2 == 0 ? width : height)));
      }
      // Each pixel inside the first box, [10, 50) x [20, 60), lies inside what became of it.
      for (std::size_t i = 0; i < plane; ++i) {
        const int from_x = pixels[i] / 2, from_y = pixels[plane + i] / 3;
        if (pixels[2 * plane + i] == 255 || from_x < 11 || from_x >= 49 || from_y < 21 || from_y >= 59) continue;
        const auto x = static_cast<float>(static_cast<std::int64_t>(i) % width),
                   y = static_cast<float>(static_cast<std::int64_t>(i) / width);
        CHECK((x + 1 >= moved[0] && x <= moved[2] && y + 1 >= moved[1] && y <= moved[3]));
      }
    }
  }
}

TEST_CASE("boxes keep their places in the list, clipped to nothing where the crop leaves them out") {
  Fields fields = scene();
  const std::vector<FieldChain> chains{{"png", image::center_crop(16)}, {"boxes.json", follow("png") | boxes()}};
  const Program program(chains, fields.catalog());
  // The crop is [40, 56) x [24, 40).
  CHECK(elements<float>(fill(program, fields)[1]) == std::vector<float>{0, 0, 10, 16, 0, 0, 0, 0, 0, 0, 0, 0});
  fields.values[3] = to_bytes("[]");
  CHECK(fill(program, fields)[1].empty());
  CHECK(program.outputs()[1].ragged);
  CHECK(program.outputs()[1].shape == Shape{4});
}

TEST_CASE("a mask can be cast, and a mask may follow a mask") {
  const Fields fields = scene();
  const std::vector<FieldChain> chains{{"png", kCrop},
                                       {"a", field("seg.png") | follow("png") | image::cast(DType::i64)},
                                       {"b", field("deep.npy") | follow("a")}};
  const Program program(chains, fields.catalog());
  CHECK(program.outputs()[1].dtype == DType::i64);
  const auto rows = fill(program, fields, {.seed = 1, .epoch = 0, .sample = 4});
  CHECK(rows[1] == rows[2]);
}

TEST_CASE("followers that do not fit their image are shape errors that name both sizes") {
  Fields fields = scene();
  fields.values[1] = png(picture(kHeight, kWidth, 1, 1));
  CHECK(contains(failure(fields, {{"png", kCrop}, {"seg.png", follow("png")}}),
                 "sample k: field seg.png: shape: is 64 x 96 pixels, but the image that it follows is 96 x 64"));
  fields.values[3] = to_bytes("[1, 2, 3]");
  CHECK(contains(failure(fields, {{"png", kCrop}, {"boxes.json", follow("png") | boxes()}}), "int64 (3,), not (n, 4)"));
  CHECK(contains(failure(fields, {{"png", kCrop}, {"points.npy", follow("png") | boxes()}}),
                 "float32 (2, 2), not (n, 4)"));
}

TEST_CASE("a follower filled before its leader is refused") {
  const Fields fields = scene();
  const std::vector<FieldChain> chains{{"png", kCrop}, {"seg.png", follow("png")}};
  const Program program(chains, fields.catalog());
  SlotFiller filler(program);
  fill(program, filler, fields, {});
  filler.begin({});
  Bytes row(1024);
  CHECK_THROWS_WITH_AS(filler.fill(1, {&fields.schemas[1], fields.values[1]}, row),
                       "invalid argument: output \"seg.png\" is filled before the output that it follows", Error);
}

}  // namespace penstock::test::follow_test
