#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>
#include <transforms/values/numbers.hpp>

#include "support/filled.hpp"
#include "support/own_steps.hpp"

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

template <typename Action>
std::string message(const Action& action) {
  try {
    action();
    return "nothing thrown";
  } catch (const Error& error) {
    return error.what();
  }
}

Fields four_points() {
  Fields fields;
  fields.add({.name = "points", .codec = "raw", .dtype = DType::f32, .shape = {4, 3}, .fixed = true},
             Bytes(4 * 3 * sizeof(float)));
  return fields;
}

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
  CHECK(refusal("9007199254740993 1.0", {.dtype = kInt}).find("number 1, ") != std::string::npos);
  CHECK(refusal("[9007199254740993, 1.0]", {.dtype = kInt}, "json").find("number 1, ") != std::string::npos);
  CHECK(read("-9007199254740991 1.0", {.dtype = kInt}).values == std::vector<double>{-9007199254740991, 1});
  CHECK(refusal("-1", {.dtype = DType::u8}).find("does not fit uint8") != std::string::npos);
  CHECK(refusal("70000.5", {.dtype = DType::f16}).find("does not fit float16") != std::string::npos);
}

TEST_CASE("what is no number is refused with its line and column") {
  CHECK(refusal("1 2\n3 x", {}).find("line 2, column 2: \"x\" is not a finite number") != std::string::npos);
  CHECK(refusal("1,", {}).find("column 2 is empty") != std::string::npos);
  CHECK(refusal("nan", {}).find("not a finite number") != std::string::npos);
  CHECK(refusal("-inf", {}).find("not a finite number") != std::string::npos);
  CHECK(refusal("0x10", {}).find("not a finite number") != std::string::npos);
  CHECK(refusal("1 2\n3", {}).find("line 2 has 1 numbers, but the lines before it have 2") != std::string::npos);
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
      {"mask", follow("padded") | valid_mask()},
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
      {"mask", follow("tokens.json") | valid_mask()},
      {"cut", field("tokens.json") | array::decode({.ragged = true}) | pad(2, {.longer = "truncate"})},
      {"few", follow("cut") | lengths()}};
  const Program program(chains, fields.catalog());
  const Output& longest = program.outputs()[0];
  REQUIRE(longest.padding);
  CHECK(longest.ragged);
  CHECK(longest.padding->multiple == 4);
  Bytes two(16);
  longest.padding->element.fill(two);
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

TEST_CASE("points that a transform of one's own has made over have no items that lengths() could count") {
  const Fields fields = four_points();
  const std::vector<FieldChain> counted{{"points", points::center()}, {"n", follow("points") | lengths()}};
  CHECK(elements<std::int64_t>(fill(Program(counted, fields.catalog()), fields)[1]) == std::vector<std::int64_t>{4});
  const std::vector<FieldChain> made_over{{"points", points::center() | transform(std::make_shared<AddNoise>(0.1F))},
                                          {"n", follow("points") | lengths()}};
  CHECK(message([&] {
          fill(Program(made_over, fields.catalog()), fields);
        }).find("\"points\" has no items to follow") != std::string::npos);
}

TEST_CASE("items without an element are refused, since bytes do not tell how many there are") {
  Fields fields;
  fields.add({.name = "bin", .codec = ""}, Bytes(4 * 4 * sizeof(float)));
  fields.add({.name = "none", .codec = "raw", .dtype = DType::f32, .shape = {4, 0}, .fixed = true}, {});
  const std::vector<FieldChain> chains{{"bin", points::decode()}, {"none", follow("bin")}};
  CHECK(message([&] { Program(chains, fields.catalog()); }).find("\"none\"") != std::string::npos);
}

TEST_CASE("items larger than an address space are refused, whether a chain or a file asks for them") {
  Fields fields = detections();
  const Shape huge{536870912, 536870912, 8};  // of float64: 2^64 bytes
  const std::vector<FieldChain> asked{
      {"tokens.json", array::decode({.dtype = DType::f64, .ragged = true, .shape = huge})}};
  CHECK(message([&] { Program(asked, fields.catalog()); }).find("larger than any memory") != std::string::npos);
  const std::vector<FieldChain> long_rows{
      {"tokens.json", array::decode({.dtype = DType::f64, .ragged = true, .shape = Shape{1 << 29, 8}}) | pad(1 << 29)}};
  CHECK(message([&] { Program(long_rows, fields.catalog()); }).find("larger than any memory") != std::string::npos);
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2305843009213693952), }";
  fields.add({.name = "npy", .codec = "npy"},
             to_bytes(std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header));
  const std::vector<FieldChain> stored{{"npy", array::decode({.ragged = true})}};
  CHECK(message([&] { Program(stored, fields.catalog()); }).find("larger than any memory") != std::string::npos);
}

TEST_CASE("an image that a resize would make larger than any that is read is refused, whatever its own size") {
  Fields fields;
  fields.add({.name = "png", .codec = "png"}, png({3000, 1, 1, std::vector<std::uint8_t>(3000)}));
  const std::vector<FieldChain> chains{{"png", image::decode(false, false, true) | image::resize(30000)}};
  const Program program(chains, fields.catalog());
  CHECK(message([&] { fill(program, fields); }).find("larger than 2^29") != std::string::npos);
}

TEST_CASE("numbers in a table that is no table of points are told as the chain reads them") {
  Fields fields;
  fields.add({.name = "csv", .codec = "xyz"}, to_bytes("4\n5\n"));
  const std::vector<FieldChain> chains{{"csv", array::decode({.ragged = true})},
                                       {"padded", field("csv") | array::decode({.ragged = true}) | pad(3)},
                                       {"n", follow("padded") | lengths()},
                                       {"bytes", field("csv") | raw()},
                                       {"padded bytes", field("csv") | raw() | pad()},
                                       {"length", follow("bytes") | lengths()}};
  const Program program(chains, fields.catalog());
  for (std::uint32_t output = 0; output < 3; ++output) {
    const OutputAccount account = program.explain(output, {fields.schemas.data(), fields.values[0]}, {});
    REQUIRE(account.stored);
    CHECK(account.stored->shape == Shape{2});
    CHECK((account.stored->dtype == DType::i64));
  }
  for (std::uint32_t output = 3; output < 6; ++output)
    CHECK_FALSE(program.explain(output, {fields.schemas.data(), fields.values[0]}, {}).stored);
}

}  // namespace penstock::test::ragged_test
