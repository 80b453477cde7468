#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/image/passes/placement.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"

namespace penstock::test::program_test {
namespace {

const std::vector<float> kMean{0.485F, 0.456F, 0.406F}, kDeviation{0.229F, 0.224F, 0.225F};

Fields one(FieldSchema schema, Bytes value) {
  Fields fields;
  fields.add(std::move(schema), std::move(value));
  return fields;
}

Program compiled(const Fields& fields, const std::vector<FieldChain>& chains) {
  return {chains, fields.catalog()};
}

// Triangle filter over `length` pixels from `begin` of a line of `size`, resampled to `count`. Source: Pillow,
// Resample.c.
std::vector<double> squeezed(const std::vector<double>& line, double begin, double length, std::int64_t count) {
  const double scale = length / static_cast<double>(count), reach = std::max(scale, 1.0);
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const double centre = begin + (static_cast<double>(i) + 0.5) * scale;
    double sum = 0, weights = 0;
    for (std::size_t x = 0; x < line.size(); ++x) {
      const double weight = std::max(0.0, 1.0 - std::abs(static_cast<double>(x) + 0.5 - centre) / reach);
      sum += weight * line[x];
      weights += weight;
    }
    out.push_back(std::round(sum / weights));
  }
  return out;
}

// Crop, then resize, then flip, as torchvision does, one channel at a time, in double: [channel][row][column].
using Planes = std::vector<std::vector<std::vector<double>>>;
Planes reference(const Picture& picture, const Region& crop, Size size, bool flip) {
  Planes planes;
  for (std::int64_t c = 0; c < picture.channels; ++c) {
    std::vector<std::vector<double>> rows;
    for (std::int64_t y = 0; y < crop.height; ++y) {
      std::vector<double> line;
      for (std::int64_t x = 0; x < crop.width; ++x) line.push_back(picture.at(crop.x + x, crop.y + y, c));
      rows.push_back(squeezed(line, 0, static_cast<double>(crop.width), size.width));
    }
    std::vector<std::vector<double>> plane(static_cast<std::size_t>(size.height));
    for (std::size_t x = 0; x < static_cast<std::size_t>(size.width); ++x) {
      std::vector<double> column;
      for (const auto& row : rows) column.push_back(row[x]);
      const auto resized = squeezed(column, 0, static_cast<double>(crop.height), size.height);
      for (std::size_t y = 0; y < plane.size(); ++y) plane[y].push_back(resized[y]);
    }
    for (auto& row : plane) {
      if (flip) std::reverse(row.begin(), row.end());
    }
    planes.push_back(std::move(plane));
  }
  return planes;
}

Region crop_of(const Geometry& geometry) {
  return {static_cast<std::int64_t>(geometry.box_x), static_cast<std::int64_t>(geometry.box_y),
          static_cast<std::int64_t>(geometry.box_width), static_cast<std::int64_t>(geometry.box_height)};
}

Picture decoded(const Fields& fields) {
  const Program program = compiled(fields, {{fields.schemas[0].name, image::decode() | image::channels_last()}});
  const Shape& shape = program.outputs()[0].shape;
  return {shape[1], shape[0], shape[2], elements<std::uint8_t>(fill(program, fields)[0])};
}

template <typename Action>
std::string message(const Action& action) {
  try {
    action();
    return "nothing thrown";
  } catch (const Error& error) {
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("random_resized_crop, flip and normalize agree with a plain reference in double, for many draws") {
  const Picture source = picture(75, 50, 3, 4);
  for (const bool photograph : {false, true}) {
    const Fields fields = photograph ? one({.name = "x", .codec = "jpeg"}, jpeg(source))
                                     : one({.name = "x", .codec = "png"}, png(source));
    const Picture pixels = decoded(fields);
    const Program program = compiled(fields, {{"x", image::random_resized_crop(24) | image::random_horizontal_flip() |
                                                        image::normalize(kMean, kDeviation)}});
    CHECK(program.outputs()[0].shape == Shape{3, 24, 24});
    CHECK(program.outputs()[0].dtype == DType::f32);
    SlotFiller filler(program);
    int flips = 0;
    for (std::uint64_t sample = 0; sample < 60; ++sample) {
      const auto values = elements<float>(fill(program, filler, fields, {.seed = 11, .epoch = 2, .sample = sample})[0]);
      const Geometry geometry = filler.placement(0)->geometry();
      const Planes expected = reference(pixels, crop_of(geometry), {24, 24}, geometry.flip);
      flips += geometry.flip;
      double worst = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t c = i / 576, y = i / 24 % 24, x = i % 24;
        const double normalized = (expected[c][y][x] / 255.0 - kMean[c]) / kDeviation[c];
        worst = std::max(worst, std::abs(values[i] - normalized) * 255.0 * kDeviation[c]);
      }
      CHECK(worst < 1.01);  // in levels of 255: the resampler's fixed point may round the other way
    }
    CHECK(flips > 10);
    CHECK(flips < 50);
  }
}

TEST_CASE(
    "random_horizontal_flip() exchanges left and right, random_vertical_flip() top and bottom, each in every pixel") {
  const Picture source = picture(31, 22, 3, 4);
  for (const bool photograph : {false, true}) {
    CAPTURE(photograph);
    const Fields fields = photograph ? one({.name = "x", .codec = "jpeg"}, jpeg(source))
                                     : one({.name = "x", .codec = "png"}, png(source));
    const Picture pixels = decoded(fields);
    for (const bool across : {false, true}) {
      for (const bool down : {false, true}) {
        const Program program =
            compiled(fields, {{"x", image::random_horizontal_flip(across ? 1 : 0) |
                                        image::random_vertical_flip(down ? 1 : 0) | image::channels_last()}});
        std::vector<std::uint8_t> expected;
        for (std::int64_t y = 0; y < 22; ++y) {
          for (std::int64_t x = 0; x < 31; ++x) {
            for (std::int64_t c = 0; c < 3; ++c)
              expected.push_back(pixels.at(across ? 30 - x : x, down ? 21 - y : y, c));
          }
        }
        CAPTURE(across);
        CAPTURE(down);
        CHECK(elements<std::uint8_t>(fill(program, fields)[0]) == expected);
      }
    }
  }
}

TEST_CASE("explain() tells the draws that filling made, without filling") {
  const Fields fields = one({.name = "x", .codec = "png"}, png(picture(75, 50, 3, 4)));
  const Chain chain = image::random_resized_crop(24) | image::random_horizontal_flip() | image::center_crop(20);
  const Program program = compiled(fields, {{"x", chain}});
  SlotFiller filler(program);
  for (std::uint64_t number = 0; number < 40; ++number) {
    const SampleContext sample{.seed = 5, .epoch = 1, .sample = number};
    fill(program, filler, fields, sample);
    const Geometry filled = filler.placement(0)->geometry();
    const OutputAccount account = program.explain(0, {&fields.schemas[0], fields.values[0]}, sample);
    REQUIRE(account.outcomes.geometry.has_value());
    CHECK(crop_of(*account.outcomes.geometry) == crop_of(filled));
    CHECK(account.outcomes.geometry->window == filled.window);
    CHECK(account.outcomes.geometry->flip == filled.flip);
    REQUIRE(account.outcomes.steps.size() == 3);
    CHECK(account.outcomes.steps[0].outcome.starts_with("drew "));
    CHECK(account.outcomes.steps[1].outcome.starts_with(filled.flip ? "flipped: drew 0." : "not flipped: drew 0."));
    CHECK(account.outcomes.steps[2].outcome == "20 x 20 at x 2, y 2 of 24 x 24");
    CHECK(account.chain == to_string(chain));
    CHECK(account.codec == "png");
    CHECK(account.stored == Layout{.dtype = DType::u8, .shape = {50, 75, 3}, .image = true});
  }
}

TEST_CASE("resize(short side) truncates the long side and center_crop rounds as torchvision does") {
  const Fields fields = one({.name = "x", .codec = "png"}, png(picture(50, 37, 3, 1)));
  FillTimes times;
  const auto geometry_of = [&](const Chain& chain) {
    const Program program = compiled(fields, {{"x", chain}});
    SlotFiller filler(program);
    fill(program, filler, fields, {});
    times = filler.times();
    return filler.placement(0)->geometry();
  };
  CHECK(geometry_of(image::resize(20)).output() == Size{27, 20});  // 20 * 50 / 37 = 27.03
  CHECK(geometry_of(image::resize(37)).resamples() == false);
  CHECK(geometry_of(image::resize(11, 13)).output() == Size{13, 11});
  CHECK(geometry_of(image::center_crop(20)).window == Region{15, 8, 20, 20});  // 17 / 2 = 8.5 goes to the even 8
  CHECK(geometry_of(image::resize(28) | image::center_crop(24)).output() == Size{24, 24});
  CHECK(times.decode.count() > 0);
  CHECK(times.transform.count() > 0);
}

TEST_CASE("the same context gives the same bytes; another seed, epoch or sample gives others") {
  const Fields fields = one({.name = "x", .codec = "jpeg"}, jpeg(picture(64, 48, 3, 5)));
  const Program program = compiled(fields, {{"x", image::random_resized_crop(16) | image::random_horizontal_flip()}});
  const Bytes base = fill(program, fields, {.seed = 1, .epoch = 1, .sample = 1})[0];
  SlotFiller filler(program);
  for (std::uint64_t sample = 5; sample-- > 0;) {
    const Bytes again = fill(program, filler, fields, {.seed = 1, .epoch = 1, .sample = sample})[0];
    CHECK((again == base) == (sample == 1));
  }
  CHECK(fill(program, fields, {.seed = 2, .epoch = 1, .sample = 1})[0] != base);
  CHECK(fill(program, fields, {.seed = 1, .epoch = 2, .sample = 1})[0] != base);
}

TEST_CASE("two views of one field draw apart, and an output added beside another changes none of its bytes") {
  const Fields fields = one({.name = "jpg", .codec = "jpeg"}, jpeg(picture(64, 48, 3, 5)));
  const Chain view = field("jpg") | image::random_resized_crop(16);
  const Program alone = compiled(fields, {{"a", view}}), both = compiled(fields, {{"b", view}, {"a", view}});
  for (std::uint64_t sample = 0; sample < 8; ++sample) {
    const auto two = fill(both, fields, {.seed = 1, .epoch = 0, .sample = sample});
    CHECK(two[0] != two[1]);
    CHECK(two[1] == fill(alone, fields, {.seed = 1, .epoch = 0, .sample = sample})[0]);
  }
}

TEST_CASE("layouts and dtypes hold the same numbers") {
  const Fields fields = one({.name = "x", .codec = "png"}, png(picture(9, 7, 3, 6)));
  const auto row = [&](const Chain& chain) { return fill(compiled(fields, {{"x", chain}}), fields)[0]; };
  const Chain normalize = image::normalize(kMean, kDeviation);
  const auto planes = elements<float>(row(normalize));
  const auto interleaved = elements<float>(row(normalize | image::channels_last()));
  const auto brains = elements<std::uint16_t>(row(normalize | image::cast(DType::bf16)));
  const auto bytes = elements<std::uint8_t>(row(image::decode()));
  const auto numbers = elements<float>(row(image::cast(DType::f32)));
  REQUIRE(planes.size() == 189);
  for (std::size_t i = 0; i < 63; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(planes[c * 63 + i] == interleaved[i * 3 + c]);
      CHECK(planes[c * 63 + i] ==
            doctest::Approx((bytes[c * 63 + i] / 255.0 - kMean[c]) / kDeviation[c]).epsilon(1e-6).scale(1));
      CHECK(numbers[c * 63 + i] == static_cast<float>(bytes[c * 63 + i]));
      const float brain = std::bit_cast<float>(static_cast<std::uint32_t>(brains[c * 63 + i]) << 16);
      CHECK(std::abs(brain - planes[c * 63 + i]) <= std::abs(planes[c * 63 + i]) / 256);
    }
  }
}

TEST_CASE("gray and transparent images become RGB, or stay gray with one mean") {
  const Picture gray = picture(8, 6, 1, 3), clear = picture(8, 6, 4, 3);
  const Fields grays = one({.name = "x", .codec = "png"}, png(gray)),
               clears = one({.name = "x", .codec = "png"}, png(clear));
  const Picture from_gray = decoded(grays), from_clear = decoded(clears);
  CHECK(from_gray.channels == 3);
  for (std::int64_t x = 0; x < 8; ++x) {
    CHECK(from_gray.at(x, 5, 2) == gray.at(x, 5, 0));
    CHECK(from_clear.at(x, 5, 2) == clear.at(x, 5, 2));
  }
  const Program program = compiled(grays, {{"x", image::normalize({0.5F}, {0.5F})}});
  CHECK(program.outputs()[0].shape == Shape{1, 6, 8});
  CHECK(elements<float>(fill(program, grays)[0])[0] == doctest::Approx(gray.at(0, 0, 0) / 127.5 - 1));
}

TEST_CASE("raw and npy arrays of uint8 (H, W, C) are images too, with the same pixels as a PNG") {
  const Picture source = picture(31, 22, 3, 8);
  const Fields encoded = one({.name = "x", .codec = "png"}, png(source));
  const Fields rows = one({.name = "x", .codec = "raw", .dtype = DType::u8, .shape = {22, 31, 3}, .fixed = true},
                          to_bytes(source.pixels));
  const Fields arrays = one({.name = "x", .codec = "npy"}, npy("|u1", {22, 31, 3}, to_bytes(source.pixels)));
  const std::vector<FieldChain> chains{
      {"x", image::random_resized_crop(12) | image::random_horizontal_flip() | image::normalize(kMean, kDeviation)}};
  for (std::uint64_t sample = 0; sample < 5; ++sample) {
    const SampleContext context{.seed = 3, .epoch = 0, .sample = sample};
    const Bytes expected = fill(compiled(encoded, chains), encoded, context)[0];
    CHECK(fill(compiled(rows, chains), rows, context)[0] == expected);
    CHECK(fill(compiled(arrays, chains), arrays, context)[0] == expected);
  }
  CHECK(compiled(rows, {{"x", image::decode() | image::channels_last()}}).outputs()[0].verbatim);
  CHECK_FALSE(compiled(rows, {{"x", image::decode()}}).outputs()[0].verbatim);
}

TEST_CASE("without a crop every image must have the first one's size, and the message says how to change that") {
  Fields fields = one({.name = "png", .codec = "png"}, png(picture(32, 32, 3, 1)));
  const Program program = compiled(fields, {{"png", image::normalize(kMean, kDeviation)}});
  CHECK(program.outputs()[0].shape == Shape{3, 32, 32});
  fields.values[0] = png(picture(33, 32, 3, 1));
  const std::string text = message([&] { fill(program, fields, {.key = "cat/7"}); });
  CHECK(contains(text, "sample cat/7: field png: shape: is 33 x 32 pixels, but the output's images are 32 x 32"));
  CHECK(contains(text, "image.random_resized_crop()"));
  const Program cropped = compiled(fields, {{"png", image::center_crop(33)}});
  CHECK(contains(message([&] { fill(cropped, fields); }),
                 "image.center_crop() of 33 x 33 does not fit an image of 33 x 32"));
}

TEST_CASE("a PNG named .jpg is decoded as what it is, and alternatives share one chain") {
  Fields fields;
  fields.add({.name = "jpg", .codec = "jpeg"}, png(picture(8, 8, 3, 1)));
  fields.add({.name = "png", .codec = "png"}, png(picture(8, 8, 3, 1)));
  const Program program = compiled(fields, {{"image", field("jpg|png|webp") | image::decode()}});
  CHECK(program.outputs()[0].sources == std::vector<std::uint32_t>{0, 1});
  CHECK(fill(program, fields)[0] == fill(compiled(fields, {{"png", image::decode()}}), fields)[0]);
}

TEST_CASE("without chains every field is decoded by its codec") {
  Fields fields;
  fields.add({.name = "jpg", .codec = "jpeg"}, jpeg(picture(16, 8, 3, 1)));
  fields.add({.name = "cls", .codec = "cls"}, to_bytes("12"));
  fields.add({.name = "txt", .codec = "txt"}, to_bytes("a dog"));
  fields.add({.name = "json", .codec = "json"}, to_bytes("[1.5, 2]"));
  fields.add({.name = "meta.json", .codec = "json"}, to_bytes("{\"a\": 1}"));
  fields.add({.name = "npy", .codec = "npy"}, npy("<i2", {2}, to_bytes(std::vector<std::int16_t>{3, -4})));
  fields.add({.name = "row", .codec = "raw", .dtype = DType::f32, .shape = {2}, .fixed = true},
             to_bytes(std::vector<float>{1, 2}));
  fields.add({.name = "bin", .codec = ""}, to_bytes("\x01\x02"));
  const Program program = compiled(fields, {});
  const auto rows = fill(program, fields);
  const auto outputs = program.outputs();
  CHECK(outputs[0].shape == Shape{3, 8, 16});
  CHECK(outputs[0].dtype == DType::u8);
  CHECK(elements<std::int64_t>(rows[1]) == std::vector<std::int64_t>{12});
  CHECK(outputs[2].ragged);
  CHECK(rows[2] == to_bytes("a dog"));
  CHECK(elements<double>(rows[3]) == std::vector<double>{1.5, 2});
  CHECK(outputs[4].ragged);
  CHECK(rows[4] == to_bytes("{\"a\": 1}"));
  CHECK(elements<std::int16_t>(rows[5]) == std::vector<std::int16_t>{3, -4});
  CHECK(elements<float>(rows[6]) == std::vector<float>{1, 2});
  CHECK(outputs[6].verbatim);
  CHECK(outputs[7].ragged);
  CHECK(rows[7] == to_bytes("\x01\x02"));
}

TEST_CASE("label() reads an integer however it is stored") {
  const auto read = [](FieldSchema schema, const Bytes& value) {
    const Fields fields = one(std::move(schema), value);
    const Program program = compiled(fields, {{"y", field("x") | label()}});
    CHECK(program.outputs()[0].shape == Shape{});
    return elements<std::int64_t>(fill(program, fields)[0])[0];
  };
  CHECK(read({.name = "x", .codec = "cls"}, to_bytes("41")) == 41);
  CHECK(read({.name = "x", .codec = "txt"}, to_bytes(" -3\n")) == -3);
  CHECK(read({.name = "x", .codec = "json"}, to_bytes("5")) == 5);
  CHECK(read({.name = "x", .codec = "json"}, to_bytes("5.0")) == 5);
  CHECK(read({.name = "x", .codec = "npy"}, npy("<u2", {1}, to_bytes(std::vector<std::uint16_t>{65535}))) == 65535);
  CHECK(read({.name = "x", .codec = "raw", .dtype = DType::u8, .fixed = true}, {std::byte{200}}) == 200);
  const auto refused = [&](const std::string& codec, const std::string& value, const std::string& cause) {
    const std::string text = message([&] { read({.name = "x", .codec = codec}, to_bytes(value)); });
    CHECK_MESSAGE(contains(text, cause), text);
  };
  refused("txt", "dog", "label() expects an integer, not \"dog\"");
  refused("txt", "", "label() expects an integer");
  refused("txt", "99999999999999999999", "label() expects an integer");
  refused("json", "1.5", "label() expects an integer, not 1.5");
  refused("json", "[1, 2]", "label() expects one integer, not int64 (2,)");
  refused("cls", "x", "corrupt");
}

TEST_CASE("raw() delivers the stored bytes, also none") {
  for (const std::string& text : {std::string("abc"), std::string()}) {
    Fields fields = one({.name = "jpg", .codec = "jpeg"}, to_bytes(text));
    const Program program = compiled(fields, {{"jpg", raw()}});
    CHECK(program.outputs()[0].ragged);
    CHECK(program.outputs()[0].verbatim);
    CHECK(fill(program, fields)[0] == to_bytes(text));
  }
}

TEST_CASE("random_slice() asks for its rows alone, and decodes the same from them as from everything") {
  std::vector<float> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const FieldSchema plain{.name = "x", .codec = "raw", .dtype = DType::f32, .shape = {100, 3}, .fixed = true};
  const Bytes array = npy("<f4", {100, 3}, to_bytes(values));
  for (const bool is_npy : {false, true}) {
    Fields fields = is_npy ? one({.name = "x", .codec = "npy"}, array) : one(plain, to_bytes(values));
    const Bytes& stored = fields.values[0];
    const Bytes header = codec_named(is_npy ? "npy" : "raw")->header(stored);
    const Program program =
        compiled(fields, {{"x", array::decode() | array::random_slice(5) | array::cast(DType::f64)}});
    CHECK(program.outputs()[0].shape == Shape{5, 3});
    std::vector<double> starts;
    for (std::uint64_t sample = 0; sample < 40; ++sample) {
      const SampleContext context{.seed = 9, .epoch = 0, .sample = sample};
      std::vector<ByteRange> ranges;
      REQUIRE(program.select(0, {&fields.schemas[0], header, stored.size()}, context, ranges));
      Bytes selected;
      for (const ByteRange& range : ranges) {
        selected.insert(selected.end(), stored.begin() + static_cast<std::ptrdiff_t>(range.begin),
                        stored.begin() + static_cast<std::ptrdiff_t>(range.end));
      }
      CHECK(selected.size() <= 60 + header.size());
      Bytes row(5 * 3 * 8);
      SlotFiller filler(program);
      filler.begin(context);
      filler.fill(0, {&fields.schemas[0], selected, ranges}, row);
      CHECK(row == fill(program, fields, context)[0]);
      const auto numbers = elements<double>(row);
      for (std::size_t i = 1; i < numbers.size(); ++i) CHECK(numbers[i] == numbers[i - 1] + 1);
      starts.push_back(numbers[0]);
    }
    std::ranges::sort(starts);
    CHECK(std::ranges::unique(starts).begin() - starts.begin() > 20);
  }
}

TEST_CASE("arrays of another shape or dtype than the first are shape errors that name both") {
  Fields fields = one({.name = "x", .codec = "npy"}, npy("<f4", {4, 2}, Bytes(32)));
  const Program all = compiled(fields, {{"x", array::decode()}}),
                window = compiled(fields, {{"x", array::random_slice(4)}});
  fields.values[0] = npy("<f4", {3, 2}, Bytes(24));
  CHECK(contains(message([&] { fill(all, fields); }), "is float32 (3, 2), but the output is float32 (4, 2)"));
  CHECK(contains(message([&] { fill(window, fields); }), "has 3 rows, fewer than array.random_slice(4)"));
  fields.values[0] = npy("<f8", {4, 2}, Bytes(64));
  CHECK(contains(message([&] { fill(all, fields); }), "is float64 (4, 2)"));
  fields.values[0] = npy("<f4", {}, Bytes(4));
  CHECK(contains(message([&] { fill(window, fields); }), "is float32 ()"));
}

TEST_CASE("broken bytes are data faults with key and field, at every length") {
  const Bytes whole = png(picture(8, 8, 3, 1));
  Fields fields = one({.name = "x", .codec = "png"}, whole);
  const Program program = compiled(fields, {{"x", image::random_resized_crop(8)}});
  SlotFiller filler(program);
  // The last 12 bytes, an empty IEND chunk, say nothing that a reader needs.
  for (std::size_t length = 0; length + 12 < whole.size(); ++length) {
    fields.values[0].assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    bool data_fault = false;
    try {
      fill(program, filler, fields, {.key = "k"});
    } catch (const Error& error) {
      data_fault = error.is_data_fault() && error.context().key == "k" && error.context().field == "x";
    }
    CHECK(data_fault);
  }
  fields.values[0] = whole;
  CHECK(fill(program, filler, fields, {}) == fill(program, fields, {}));
}

}  // namespace penstock::test::program_test
