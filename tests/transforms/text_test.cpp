#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <transforms/values/text.hpp>

namespace penstock::test::text_test {
namespace {

std::span<const std::byte> bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

template <class T>
std::vector<T> decode(const Codec& codec, const std::string& text, const Layout& expected) {
  const FieldSchema schema{.name = "x", .codec = std::string(codec.name())};
  const auto decoder = codec.decoder(schema);
  const FieldBytes field{.schema = &schema, .bytes = bytes(text)};
  const Layout layout = decoder->peek(field);
  CHECK(layout == expected);
  std::vector<T> out(element_count(layout.shape));
  decoder->decode(field, nullptr, {reinterpret_cast<std::byte*>(out.data()), layout.dtype, layout.shape});
  return out;
}

ErrorKind failure(const Codec& codec, const std::string& text) {
  try {
    decode<std::int64_t>(codec, text, {.dtype = DType::i64});
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error for " << text);
  return ErrorKind::io;
}

}  // namespace

TEST_CASE("a class index is a decimal integer with blanks around it") {
  const Layout scalar{.dtype = DType::i64};
  CHECK(decode<std::int64_t>(class_index_codec(), "42", scalar).front() == 42);
  CHECK(decode<std::int64_t>(class_index_codec(), " -7\r\n", scalar).front() == -7);
  for (const char* text : {"", "  ", "1.5", "4 2", "0x10", "9223372036854775808", "seven"}) {
    CHECK(failure(class_index_codec(), text) == ErrorKind::corrupt);
  }
}

TEST_CASE("text is its bytes") {
  CHECK(decode<char>(txt_codec(), "h\xC3\xA9", {.dtype = DType::u8, .shape = {3}}) ==
        std::vector<char>{'h', '\xC3', '\xA9'});
  CHECK(decode<char>(txt_codec(), "", {.dtype = DType::u8, .shape = {0}}).empty());
}

TEST_CASE("json numbers are int64 when all are integers, else float64, in the arrays' shape") {
  CHECK(decode<std::int64_t>(json_codec(), "7", {.dtype = DType::i64}).front() == 7);
  CHECK(decode<double>(json_codec(), "0.5", {.dtype = DType::f64}).front() == 0.5);
  CHECK(decode<std::int64_t>(json_codec(), "[[1, 2, 3], [4, 5, -6]]", {.dtype = DType::i64, .shape = {2, 3}}) ==
        std::vector<std::int64_t>{1, 2, 3, 4, 5, -6});
  CHECK(decode<double>(json_codec(), "[1, 2.5]", {.dtype = DType::f64, .shape = {2}}) == std::vector<double>{1, 2.5});
  CHECK(decode<double>(json_codec(), "[]", {.dtype = DType::f64, .shape = {0}}).empty());
  CHECK(decode<double>(json_codec(), "[[], []]", {.dtype = DType::f64, .shape = {2, 0}}).empty());
}

TEST_CASE("json that is no rectangle of numbers is refused") {
  for (const char* text : {"[[1], [2, 3]]", "[1, [2]]", "[[1], 2]", "[[[1]], []]", "[[], [1]]", "[[], [[1]]]"}) {
    CHECK(failure(json_codec(), text) == ErrorKind::shape);
  }
  for (const char* text : {"{}", "{\"a\": 1}", "null", "[true]", "\"1\"", "18446744073709551615"}) {
    CHECK(failure(json_codec(), text) == ErrorKind::unsupported);
  }
  for (const char* text : {"", "[1", "[1,]", "1 2", "nan", "[1e999]"}) {
    CHECK(failure(json_codec(), text) == ErrorKind::corrupt);
  }
  CHECK(failure(json_codec(), std::string(1000000, '[')) == ErrorKind::unsupported);
}

TEST_CASE("an image of a kind that is not decoded is named") {
  const auto told = [](const std::string& field, const std::string& begin, const std::string& codec = "") {
    try {
      codec_for({.name = field, .codec = codec}, bytes(begin));
      return std::string("a codec");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  for (const char* codec : {"jpeg", "png", "webp"}) {
    CAPTURE(codec);
    CHECK(told("x", "GIF89a", codec).find("is a GIF image") != std::string::npos);
    CHECK(told("x", "BM1234", codec).find("is a BMP image") != std::string::npos);
    CHECK(told("x", std::string("II*\0rest", 8), codec).find("is a TIFF image") != std::string::npos);
    CHECK(told("x", "", codec) == "a codec");
    CHECK(told("tiff", "what", codec) == "a codec");
  }
  CHECK(told("x", "GIF89a", "npy") == "a codec");
  for (const auto& [field, begin, kind] : std::vector<std::array<std::string, 3>>{
           {"x", std::string("II*\0rest", 8), "is a TIFF image"},
           {"x", std::string("MM\0*rest", 8), "is a TIFF image"},
           {"scan.tiff", "what", "is a TIFF image"},
           {"x", "GIF89a", "is a GIF image"},
           {"bmp", "BMxx", "is a BMP image"},
           {"ppm", "P6 1 1", "is a PPM image"},
           {"x", "what", "neither the schema nor the first bytes identify the codec"}}) {
    CAPTURE(begin);
    CHECK_MESSAGE(told(field, begin).find(kind) != std::string::npos, told(field, begin));
  }
}

TEST_CASE("magic bytes decide between images and arrays; text and raw elements are what the schema says") {
  const std::string png = "\x89PNG\r\n\x1a\n", jpeg = "\xFF\xD8\xFF\xE0";
  CHECK(codec_for({.name = "jpg", .codec = "jpeg"}, bytes(png)).name() == "png");
  CHECK(codec_for({.name = "x", .codec = ""}, bytes(jpeg)).name() == "jpeg");
  CHECK(codec_for({.name = "npy", .codec = "npy"}, bytes("nothing")).name() == "npy");
  CHECK(codec_for({.name = "x", .codec = "raw", .shape = {4}, .fixed = true}, bytes(jpeg)).name() == "raw");
  CHECK(codec_for({.name = "x", .codec = "", .shape = {4}, .fixed = true}, bytes("abcd")).name() == "raw");
  CHECK(codec_for({.name = "txt", .codec = "txt"}, bytes(png)).name() == "txt");
  CHECK_THROWS_AS(codec_for({.name = "x", .codec = ""}, bytes("what")), Error);
  CHECK_THROWS_AS(codec_for({.name = "x", .codec = "bmp"}, bytes("RIFF")), Error);
  for (const Codec* codec : codecs()) CHECK(codec_named(codec->name()) == codec);
  CHECK(codec_named("bmp") == nullptr);
}

}  // namespace penstock::test::text_test
