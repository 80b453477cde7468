// Tests codecs and transforms of the user's own, in chains beside those of the library.
#include "support/own_steps.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/transform.hpp>
#include <transforms/output.hpp>
#include <transforms/program/output_program.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"

namespace penstock::test::own_steps_test {
namespace {

Program compiled(const Fields& fields, const std::vector<FieldChain>& chains) {
  return {chains, fields.catalog()};
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

Fields pgm_fields(const Picture& gray) {
  Fields fields;
  fields.add({.name = "pgm", .codec = ""}, to_bytes(pgm(gray.width, gray.height, gray.pixels)));
  return fields;
}

}  // namespace

TEST_CASE("a codec of one's own decodes like one of the library: whole, and cut by the geometry") {
  const Picture source = picture(40, 30, 1, 3);
  Fields fields = pgm_fields(source);
  fields.add({.name = "png", .codec = "png"}, png(source));
  const auto codec = std::make_shared<PgmCodec>();
  const Chain geometry = image::resize(24) | image::center_crop(16) | image::normalize({0.5F}, {0.25F});
  const Program program = compiled(fields, {{"pgm", decode(codec) | geometry},
                                            {"png", geometry},
                                            {"whole", field("pgm") | decode(codec) | image::channels_last()}});
  const std::vector<Bytes> rows = fill(program, fields);
  CHECK(program.outputs()[0].shape == Shape{1, 16, 16});
  CHECK(rows[0] == rows[1]);
  CHECK(elements<std::uint8_t>(rows[2]) == source.pixels);
  CHECK(program.version().find("pgm = decode(pgm 2) | image.resize(24)") != std::string::npos);
  const OutputAccount account = program.explain(0, {&fields.schemas[0], fields.values[0]}, {});
  CHECK(account.codec == "pgm");
  CHECK(account.stored->shape == Shape{30, 40, 1});
}

TEST_CASE("without steps for images, the layout of one's own codec decides; masks take it too") {
  const Picture source = picture(20, 10, 1, 5);
  Fields fields = pgm_fields(source);
  fields.add({.name = "png", .codec = "png"}, png(picture(20, 10, 3, 6)));
  const auto codec = std::make_shared<PgmCodec>();
  const Program program =
      compiled(fields, {{"png", image::random_horizontal_flip(1)}, {"pgm", follow("png") | decode(codec)}});
  const std::vector<std::uint8_t> flipped = elements<std::uint8_t>(fill(program, fields)[1]);
  CHECK(flipped.front() == source.at(19, 0, 0));

  Fields words;
  words.add({.name = "words", .codec = "raw", .dtype = DType::u8, .shape = {4}, .fixed = true}, to_bytes("abcd"));
  const Program doubled = compiled(words, {{"words", decode(std::make_shared<EveryByteTwice>())}});
  CHECK(doubled.outputs()[0].shape == Shape{8});
  CHECK_FALSE(doubled.outputs()[0].verbatim);  // elements of a fixed field, but not as they are stored
  CHECK(fill(doubled, words)[0] == to_bytes("aabbccdd"));
}

TEST_CASE("transforms of one's own take what the steps before them give, one after the other") {
  const Picture source = picture(12, 8, 3, 7);
  Fields fields;
  fields.add({.name = "png", .codec = "png"}, png(source));
  const auto sum = std::make_shared<SumOfChannels>();
  const auto add = std::make_shared<AddNoise>(0);
  const Program program = compiled(fields, {{"png", image::decode() | transform(sum) | transform(add)},
                                            {"flip", field("png") | image::random_horizontal_flip(1)}});
  CHECK(program.outputs()[0].shape == Shape{8, 12});
  CHECK(program.outputs()[0].dtype == DType::f32);
  const auto values = elements<float>(fill(program, fields)[0]);
  for (std::int64_t y = 0; y < 8; ++y) {
    for (std::int64_t x = 0; x < 12; ++x) {
      const int expected = source.at(x, y, 0) + source.at(x, y, 1) + source.at(x, y, 2);
      CHECK(values[static_cast<std::size_t>(y * 12 + x)] == static_cast<float>(expected));
    }
  }
  CHECK(program.version().find("png = image.decode() | transform(sum of channels 3) | transform(noise 1)") !=
        std::string::npos);
}

TEST_CASE("an output keeps its geometry for its followers when a transform of one's own comes last") {
  const Picture source = picture(12, 8, 3, 7), mask = picture(12, 8, 1, 8);
  Fields fields;
  fields.add({.name = "png", .codec = "png"}, png(source));
  fields.add({.name = "seg", .codec = "png"}, png(mask));
  const Program program =
      compiled(fields, {{"png", image::random_horizontal_flip(1) | transform(std::make_shared<SumOfChannels>())},
                        {"seg", follow("png") | transform(std::make_shared<Negative>())}});
  const auto values = elements<std::uint8_t>(fill(program, fields)[1]);
  CHECK(values.front() == 255 - mask.at(11, 0, 0));
}

TEST_CASE("draws are a function of seed, epoch, sample, output and the step's place") {
  Fields fields;
  fields.add({.name = "x", .codec = "raw", .dtype = DType::f32, .shape = {4}, .fixed = true},
             to_bytes(std::vector<float>{0, 0, 0, 0}));
  const auto noise = std::make_shared<AddNoise>(1);
  const Program program = compiled(fields, {{"x", transform(noise)},
                                            {"y", field("x") | transform(noise)},
                                            {"z", field("x") | transform(noise) | transform(noise)}});
  SlotFiller filler(program), other(program);
  const SampleContext sample{.seed = 3, .epoch = 1, .sample = 9};
  const auto first = fill(program, filler, fields, sample);
  fill(program, filler, fields, {.seed = 3, .epoch = 1, .sample = 10});
  CHECK(fill(program, other, fields, sample) == first);
  CHECK(fill(program, filler, fields, {.seed = 3, .epoch = 2, .sample = 9}) != first);
  CHECK(first[0] != first[1]);
  Random random(3, 1, 9, transform_id("x", 0));
  CHECK(elements<float>(first[0])[0] == static_cast<float>(random.uniform()));
}

TEST_CASE("ragged values become rows of one shape") {
  Fields fields;
  fields.add({.name = "txt", .codec = "txt"}, to_bytes("abc"));
  const Program program = compiled(fields, {{"txt", raw() | transform(std::make_shared<Histogram>())}});
  CHECK(program.outputs()[0].shape == Shape{256});
  const auto counts = elements<std::int64_t>(fill(program, fields)[0]);
  CHECK(counts['a'] == 1);
  CHECK(std::count(counts.begin(), counts.end(), 0) == 253);
}

TEST_CASE("what does not fit is told before anything runs, with output and chain") {
  Fields fields = pgm_fields(picture(4, 4, 1, 1));
  fields.add({.name = "png", .codec = "png"}, png(picture(4, 4, 3, 1)));
  const auto codec = std::make_shared<PgmCodec>();
  const auto sum = std::make_shared<SumOfChannels>();
  const auto told = [&](const Chain& chain) { return message([&] { compiled(fields, {{"png", chain}}); }); };
  CHECK(told(image::decode() | decode(codec)).find("decode(pgm 2) must come first") != std::string::npos);
  CHECK(told(transform(sum) | image::random_horizontal_flip()).find("must come before transform(sum of channels 3)") !=
        std::string::npos);
  CHECK(told(transform(std::make_shared<Histogram>())).find("wants bytes") != std::string::npos);
  CHECK(told(transform(std::make_shared<Throws>(3))).find("output \"png\" = transform(throws 1): no such luck") !=
        std::string::npos);
  CHECK_THROWS_WITH_AS(transform(nullptr), doctest::Contains("needs a transform"), Error);
  CHECK_THROWS_WITH_AS(decode(nullptr), doctest::Contains("needs a codec"), Error);
  CHECK(told(decode(codec)).find("corrupt") != std::string::npos);  // a PNG is no PGM
}

TEST_CASE("what a step of one's own throws comes out as an Error with key and field, whatever it is") {
  Fields fields;
  fields.add({.name = "png", .codec = "png"}, png(picture(4, 4, 3, 1)));
  const auto thrown = [&](int what) -> Error {
    const Program program = compiled(fields, {{"png", transform(std::make_shared<Throws>(what))}});
    try {
      fill(program, fields, {.key = "k7"});
    } catch (const Error& error) {
      return error;
    }
    return Error::io(0, "nothing was thrown");
  };
  for (const int what : {0, 1, 2}) {
    CHECK(thrown(what).context().key == "k7");
    CHECK(thrown(what).context().field == "png");
    CHECK(thrown(what).is_data_fault() == (what == 0));
  }
  CHECK(thrown(1).cause() == "no such luck");
}

}  // namespace penstock::test::own_steps_test
