#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/values/npy.hpp>
#include <transforms/values/raw.hpp>

#include "support/test_data.hpp"

namespace penstock::test::npy_test {
namespace {

const FieldSchema kSchema{.name = "npy", .codec = "npy"};

std::vector<std::byte> make_npy(const std::string& dictionary, std::size_t data_bytes, char version = 1) {
  std::string text = std::string("\x93NUMPY") + version + '\0';
  const std::size_t length = dictionary.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(length >> (8 * i));
  text += dictionary;
  for (std::size_t i = 0; i < data_bytes; ++i) text += static_cast<char>(i);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::vector<std::uint8_t> decode(std::span<const std::byte> bytes, Layout& layout,
                                 std::span<const ByteRange> ranges = {}) {
  const auto decoder = npy_codec().decoder(kSchema);
  const FieldBytes field{.schema = &kSchema, .bytes = bytes, .ranges = ranges};
  layout = decoder->peek(field);
  std::vector<std::uint8_t> out(element_count(layout.shape) * size_of(layout.dtype));
  decoder->decode(field, nullptr, {reinterpret_cast<std::byte*>(out.data()), layout.dtype, layout.shape});
  return out;
}

ErrorKind failure(std::span<const std::byte> bytes) {
  Layout layout;
  try {
    decode(bytes, layout);
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::io;
}

}  // namespace

TEST_CASE("dtype and shape come from the header, in any order, of each version") {
  Layout layout;
  const auto values = decode(make_npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }   \n", 12), layout);
  CHECK(layout == Layout{.dtype = DType::i16, .shape = {2, 3}});
  CHECK(values[11] == 11);
  decode(make_npy("{'shape':(4L,),\"descr\":'|u1','fortran_order':False}", 4, 2), layout);
  CHECK(layout == Layout{.dtype = DType::u8, .shape = {4}});
  decode(make_npy("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8, 3), layout);
  CHECK(layout == Layout{.dtype = DType::f64, .shape = {}});
}

TEST_CASE("big-endian elements are swapped") {
  Layout layout;
  CHECK(decode(make_npy("{'descr': '>u4', 'fortran_order': False, 'shape': (2,)}", 8), layout) ==
        std::vector<std::uint8_t>{3, 2, 1, 0, 7, 6, 5, 4});
}

TEST_CASE("elements in Fortran order are delivered in C order") {
  Layout layout;
  const auto values = decode(make_npy("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3)}", 12), layout);
  CHECK(layout == Layout{.dtype = DType::u16, .shape = {2, 3}});
  CHECK(values == std::vector<std::uint8_t>{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11});
  CHECK(decode(make_npy("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 2)}", 8), layout) ==
        std::vector<std::uint8_t>{1, 0, 5, 4, 3, 2, 7, 6});
  CHECK(decode(make_npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 1, 2)}", 4), layout) ==
        std::vector<std::uint8_t>{0, 2, 1, 3});
  CHECK(decode(make_npy("{'descr': '|u1', 'fortran_order': True, 'shape': (3,)}", 3), layout) ==
        std::vector<std::uint8_t>{0, 1, 2});
  CHECK(decode(make_npy("{'descr': '|u1', 'fortran_order': True, 'shape': (3, 0)}", 0), layout).empty());
  CHECK(failure(make_npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", 23)) == ErrorKind::corrupt);
  const auto bytes = make_npy("{'descr': '<u2', 'fortran_order': True, 'shape': (10, 3)}", 60);
  const auto header = npy_codec().header(bytes);
  std::vector<ByteRange> ranges;
  CHECK_FALSE(npy_codec().select({.schema = &kSchema, .header = header, .length = bytes.size()}, {4, 6}, ranges));
}

TEST_CASE("select() names the header and the rows, and they decode alone") {
  const auto bytes = make_npy("{'descr': '<u2', 'fortran_order': False, 'shape': (10, 3)}", 60);
  const auto header = npy_codec().header(bytes);
  std::vector<ByteRange> ranges;
  const FieldHeader field{.schema = &kSchema, .header = header, .length = bytes.size()};
  REQUIRE(npy_codec().select(field, {4, 6}, ranges));
  REQUIRE(ranges == std::vector<ByteRange>{{0, header.size()}, {header.size() + 24, header.size() + 36}});
  std::vector<std::byte> read;
  for (const ByteRange& range : ranges) {
    read.insert(read.end(), bytes.begin() + static_cast<std::ptrdiff_t>(range.begin),
                bytes.begin() + static_cast<std::ptrdiff_t>(range.end));
  }
  Layout layout;
  const auto rows = decode(read, layout, ranges);
  CHECK(layout.shape == Shape{2, 3});
  CHECK(rows == std::vector<std::uint8_t>{24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35});
  CHECK_THROWS_AS(npy_codec().select(field, {4, 11}, ranges), Error);
  CHECK_THROWS_AS(npy_codec().select({.schema = &kSchema, .header = header, .length = 80}, {4, 6}, ranges), Error);
  CHECK_FALSE(npy_codec().select({.schema = &kSchema, .header = {}, .length = bytes.size()}, {4, 6}, ranges));
}

TEST_CASE("what is not a plain array is refused") {
  auto made = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return make_npy("{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}", 64);
  };
  CHECK(failure(made("'|O'", "False", "(2,)")) == ErrorKind::unsupported);
  CHECK(failure(made("'<c8'", "False", "(2,)")) == ErrorKind::unsupported);
  CHECK(failure(made("[('a', '<f4')]", "False", "(2,)")) == ErrorKind::unsupported);
  CHECK(failure(made("'<f4'", "False", "(17,)")) == ErrorKind::corrupt);
  CHECK(failure(made("'<f4'", "False", "(-1,)")) == ErrorKind::corrupt);
  CHECK(failure(made("'<f4'", "False", "(2)) #")) == ErrorKind::corrupt);
  CHECK(failure(made("'<f4'", "None", "(2,)")) == ErrorKind::corrupt);
  CHECK(failure(made("'<f8'", "False", "(4294967296, 4294967296)")) != ErrorKind::io);
  CHECK(failure(made("'<f8'", "False", "(99999999999999999999,)")) == ErrorKind::corrupt);
  const auto good = made("'<f4'", "False", "(16,)");
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK(failure(std::span(good).first(length)) == ErrorKind::corrupt);
  }
}

TEST_CASE("real files give an array or a data fault") {
  int arrays = 0, faults = 0;
  for (const auto& path : ::test::data_files("npy")) {
    CAPTURE(path.string());
    Layout layout;
    try {
      decode(::test::read_file(path), layout);
      ++arrays;
    } catch (const Error& error) {
      CHECK(error.is_data_fault());
      ++faults;
    }
  }
  MESSAGE(arrays << " arrays, " << faults << " faults");
}

TEST_CASE("raw elements have the schema's shape, and rows are arithmetic") {
  const FieldSchema schema{.name = "x", .codec = "raw", .dtype = DType::i16, .shape = {4, 3}, .fixed = true};
  const auto decoder = raw_codec().decoder(schema);
  const std::vector<std::byte> bytes(24);
  CHECK(decoder->peek({.schema = &schema, .bytes = bytes}) == Layout{.dtype = DType::i16, .shape = {4, 3}});
  CHECK_THROWS_AS(decoder->peek({.schema = &schema, .bytes = std::span(bytes).first(23)}), Error);
  std::vector<ByteRange> ranges;
  REQUIRE(raw_codec().select({.schema = &schema, .header = {}, .length = 24}, {1, 3}, ranges));
  CHECK(ranges == std::vector<ByteRange>{{6, 18}});
  CHECK(decoder->peek({.schema = &schema, .bytes = std::span(bytes).first(12), .ranges = ranges}).shape == Shape{2, 3});
  CHECK_THROWS_AS(raw_codec().select({.schema = &schema, .header = {}, .length = 24}, {1, 5}, ranges), Error);
  const FieldSchema open{.name = "x", .codec = "raw"};
  CHECK(raw_codec().decoder(open)->peek({.schema = &open, .bytes = bytes}) == Layout{.shape = {24}});
}

}  // namespace penstock::test::npy_test
