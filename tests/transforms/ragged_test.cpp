#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/base/error.hpp>
#include <penstock/transforms/program/program.hpp>
#include <penstock/transforms/values/numbers.hpp>

#include "support/filled.hpp"

namespace penstock::test::ragged_test {
namespace {

struct Read {
  Layout layout;
  std::vector<double> values;
};

Read read(const std::string& text, NumbersAs as, const std::string& name = "txt") {
  const FieldSchema schema{.name = name, .codec = name == "json" ? "json" : "txt"};
  const Bytes bytes = to_bytes(text);
  const auto decoder = numbers_decoder(schema, std::move(as));
  const FieldBytes field{&schema, bytes};
  Read read{decoder->peek(field), {}};
  Bytes made(element_count(read.layout.shape) * size_of(read.layout.dtype));
  decoder->decode(field, nullptr, {made.data(), read.layout.dtype, read.layout.shape});
  if (read.layout.dtype == DType::f64) read.values = elements<double>(made);
  if (read.layout.dtype == DType::i64) {
    for (const std::int64_t value : elements<std::int64_t>(made)) read.values.push_back(static_cast<double>(value));
  }
  return read;
}

std::string refusal(const std::string& text, NumbersAs as, const std::string& name = "txt") {
  try {
    read(text, std::move(as), name);
    return "nothing thrown";
  } catch (const Error& error) {
    return error.what();
  }
}

Fields detections() {
  Fields fields;
  const std::vector<std::uint8_t> pixels(64 * 64, 7);
  fields.add({.name = "png", .codec = "png"}, png({64, 64, 1, pixels}));
  fields.add({.name = "boxes.json", .codec = "json"},
             to_bytes("[[0, 0, 8, 8], [30, 30, 40, 40], [60, 60, 64, 64], [20, 20, 36, 28]]"));
  fields.add({.name = "labels.txt", .codec = "txt"}, to_bytes("3\n1\n4\n5\n"));
  fields.add({.name = "tokens.json", .codec = "json"}, to_bytes("[7, 8, 9]"));
  fields.add({.name = "other.json", .codec = "json"}, to_bytes("[1]"));
  return fields;
}

constexpr DType kInt = DType::i64;

}  // namespace

TEST_CASE("lines of text are rows, and what is one line or one number alone loses dimensions unless rows are items") {
  CHECK(read("1 2\n3 4\n5 6", {}).layout.shape == Shape{3, 2});
  CHECK(read("1, 2 ;3\t4", {}).layout.shape == Shape{4});
  CHECK(read(" 2.5 \r\n", {}).layout.shape == Shape{});
  CHECK(read("1\n2\n\n3\n", {}).layout.shape == Shape{3});
  CHECK(read("1 2 3", {.items = true}).layout.shape == Shape{1, 3});
  CHECK(read("4", {.items = true}).layout.shape == Shape{1});
  CHECK(read("", {.items = true}).layout.shape == Shape{0});
  CHECK(read("1 2\n3 4 5", {.items = true, .item = Shape{}}).layout.shape == Shape{5});
  CHECK(read("1 2 3 4\n5 6 7 8\n", {.items = true, .item = Shape{2, 2}}).layout.shape == Shape{2, 2, 2});
  CHECK(read("", {.items = true, .item = Shape{4}}).layout.shape == Shape{0, 4});
  CHECK(read("\xEF\xBB\xBF# a comment\n1 # more\n", {}).values == std::vector<double>{1});
  CHECK(read("[[1, 2], [3, 4]]", {.items = true}, "json").layout.shape == Shape{2, 2});
}

TEST_CASE("whole numbers are int64 to the last digit, others float64, and a dtype that is named is exact or refused") {
  const Read whole = read("9007199254740993", {.dtype = kInt});
  CHECK((whole.layout.dtype == kInt));
  CHECK((read("1 2.5", {}).layout.dtype == DType::f64));
  CHECK(read("+1e3 -.5", {.dtype = DType::f64}).values == std::vector<double>{1000, -0.5});
  CHECK(read("1.0 2e0", {.dtype = kInt}).values == std::vector<double>{1, 2});
  CHECK(refusal("1 2.5", {.dtype = kInt}).find("number 2, 2.5, does not fit int64") != std::string::npos);
  CHECK(refusal("9223372036854775808", {.dtype = kInt}).find("does not fit int64") != std::string::npos);
  CHECK(refusal("-1", {.dtype = DType::u8}).find("does not fit uint8") != std::string::npos);
  CHECK(refusal("70000.5", {.dtype = DType::f16}).find("does not fit float16") != std::string::npos);
}

TEST_CASE("what is no number is refused with its line and column") {
  CHECK(refusal("1 2\n3 x", {}).find("line 2, column 2: \"x\" is no finite number") != std::string::npos);
  CHECK(refusal("1,", {}).find("column 2 is empty") != std::string::npos);
  CHECK(refusal("nan", {}).find("no finite number") != std::string::npos);
  CHECK(refusal("-inf", {}).find("no finite number") != std::string::npos);
  CHECK(refusal("0x10", {}).find("no finite number") != std::string::npos);
  CHECK(refusal("1 2\n3", {}).find("line 2 has 1 numbers, the lines before it 2") != std::string::npos);
  CHECK(refusal("a,b\n1,2", {}).find("line 1, column 1") != std::string::npos);
  CHECK(read("a,b\n1,2", {}, "csv").layout.shape == Shape{2});
  CHECK(refusal("a,b\nc,d", {}, "csv").find("line 2, column 1") != std::string::npos);
}

TEST_CASE("boxes that are dropped take the items with them that follow, through pads and counts") {
  const Fields fields = detections();
  const std::vector<FieldChain> chains{
      {"count", follow("padded") | lengths()},
      {"padded", field("labels.txt") | follow("boxes.json") | array::decode({.dtype = kInt, .ragged = true}) |
                     pad(3, {.value = -1})},
      {"mask", follow("padded") | mask()},
      {"labels.txt", follow("boxes.json") | array::decode({.ragged = true})},
      {"boxes.json", follow("png") | boxes({.min_size = 5})},
      {"png", image::center_crop(24)}};
  const Program program(chains, fields.catalog());
  const std::vector<Bytes> rows = fill(program, fields);
  CHECK(elements<std::int64_t>(rows[0]) == std::vector<std::int64_t>{2});
  CHECK(elements<std::int64_t>(rows[1]) == std::vector<std::int64_t>{1, 5, -1});
  CHECK(elements<std::uint8_t>(rows[2]) == std::vector<std::uint8_t>{1, 1, 0});
  CHECK(elements<std::int64_t>(rows[3]) == std::vector<std::int64_t>{1, 5});
  CHECK(elements<float>(rows[4]) == std::vector<float>{10, 10, 20, 20, 0, 0, 16, 8});
}

TEST_CASE("a follower of other length than its boxes is a fault that names both") {
  const Fields fields = detections();
  const std::vector<FieldChain> chains{{"png", image::center_crop(24)},
                                       {"boxes.json", follow("png") | boxes()},
                                       {"other.json", follow("boxes.json") | array::decode({.ragged = true})}};
  const Program program(chains, fields.catalog());
  CHECK_THROWS_WITH_AS(fill(program, fields, {.key = "k"}),
                       doctest::Contains("has 1 items, but the output that it follows has 4"), Error);
}

TEST_CASE("rows that a batch pads say so, and those of one length are filled by the chain") {
  const Fields fields = detections();
  const std::vector<FieldChain> chains{
      {"tokens.json", array::decode({.ragged = true}) | pad(0, {.multiple_of = 4, .value = -100})},
      {"mask", follow("tokens.json") | mask()},
      {"cut", field("tokens.json") | array::decode({.ragged = true}) | pad(2, {.longer = "truncate"})},
      {"few", follow("cut") | lengths()}};
  const Program program(chains, fields.catalog());
  const Output& longest = program.outputs()[0];
  REQUIRE(longest.padding);
  CHECK(longest.ragged);
  CHECK(longest.padding->multiple == 4);
  Bytes two(16);
  longest.padding->fill(two);
  CHECK(elements<std::int64_t>(two) == std::vector<std::int64_t>{-100, -100});
  CHECK(program.outputs()[1].ragged);
  CHECK(program.outputs()[2].shape == Shape{2});
  const std::vector<Bytes> rows = fill(program, fields);
  CHECK(elements<std::int64_t>(rows[0]) == std::vector<std::int64_t>{7, 8, 9});
  CHECK(elements<std::uint8_t>(rows[1]) == std::vector<std::uint8_t>{1, 1, 1});
  CHECK(elements<std::int64_t>(rows[2]) == std::vector<std::int64_t>{7, 8});
  CHECK(elements<std::int64_t>(rows[3]) == std::vector<std::int64_t>{2});
}

TEST_CASE("an image with a size of its own tells its shape, and a mask has its image's") {
  Fields fields = detections();
  const std::vector<FieldChain> chains{{"png", image::decode(false, false, true) | image::resize(32)},
                                       {"mask", field("png") | follow("png")}};
  const Program program(chains, fields.catalog());
  CHECK(program.outputs()[0].own_dimensions == 3);
  CHECK(program.outputs()[1].own_dimensions == 2);
  SlotFiller filler(program);
  const std::vector<Bytes> rows = fill(program, filler, fields, {});
  const auto image = filler.row_shape(0), mask = filler.row_shape(1);
  CHECK(Shape(image.begin(), image.end()) == Shape{3, 32, 32});
  CHECK(Shape(mask.begin(), mask.end()) == Shape{32, 32});
  CHECK(rows[0].size() == 3 * 32 * 32);
  CHECK(rows[1].size() == 32 * 32);
}

}  // namespace penstock::test::ragged_test
