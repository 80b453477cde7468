#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/ply.hpp>

#include "support/cloud_values.hpp"
#include "support/test_data.hpp"

namespace penstock::test::ply_test {
namespace {

template <typename T>
void put(std::string& bytes, T value, bool big) {
  std::string raw(sizeof(T), '\0');
  std::memcpy(raw.data(), &value, sizeof(T));
  if (big) std::reverse(raw.begin(), raw.end());
  bytes += raw;
}

std::string header_of(const std::string& format, const std::string& properties, std::size_t count,
                      const std::string& before = "") {
  return "ply\nformat " + format + " 1.0\ncomment element vertex 99\nobj_info x y\n" + before + "element vertex " +
         std::to_string(count) + "\n" + properties +
         "element face 1\nproperty list uchar int vertex_index\nend_header\n";
}

template <typename T>
void check_type(const std::string& type, DType dtype, T low, T high) {
  CAPTURE(type);
  const std::string properties =
      "property " + type + " a\nproperty " + type + " x\nproperty " + type + " y\nproperty " + type + " z\n";
  for (const bool big : {false, true}) {
    std::string bytes = header_of(big ? "binary_big_endian" : "binary_little_endian", properties, 3);
    for (const T value : {low, T{1}, T{2}, T{3}, high, T{4}, T{5}, T{6}, T{7}, T{8}, T{9}, T{10}})
      put(bytes, value, big);
    const DecodedCloud cloud = decode_cloud(ply_codec(), bytes + "\x03");
    CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 4, 5, 6, 8, 9, 10});
    REQUIRE(cloud.header.attributes == std::vector<PointAttribute>{{"a", dtype}});
    CHECK(cloud.values<T>("a") == std::vector<T>{low, high, T{7}});
    check_choice(ply_codec(), bytes, {0, 2}, true);
    check_choice(ply_codec(), bytes, {1, 2}, true);
    check_choice(ply_codec(), bytes, {}, true);
  }
  std::string text = header_of("ascii", properties, 3);
  int numbers = 0;
  for (const T value : {low, T{1}, T{2}, T{3}, high, T{4}, T{5}, T{6}, T{7}, T{8}, T{9}, T{10}}) {
    std::array<char, 400> digits{};
    if constexpr (std::is_floating_point_v<T>)
      std::snprintf(digits.data(), digits.size(), "%.17g ", static_cast<double>(value));
    else
      std::snprintf(digits.data(), digits.size(), "%s\t", std::to_string(value).c_str());
    text += digits.data();
    if (++numbers % 4 == 0) text += " \n\n";
  }
  const DecodedCloud cloud = decode_cloud(ply_codec(), text);
  CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 4, 5, 6, 8, 9, 10});
  CHECK(cloud.header.attributes == std::vector<PointAttribute>{{"a", dtype}});
  CHECK(cloud.values<T>("a") == std::vector<T>{low, high, T{7}});
  check_choice(ply_codec(), text, {0, 2}, false);
}

template <typename T>
void check_type(const std::string& type, const std::string& other, DType dtype) {
  check_type<T>(type, dtype, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
  check_type<T>(other, dtype, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
}

const std::string kXyz = "property float x\nproperty float y\nproperty float z\n";

}  // namespace

TEST_CASE("every type is read in ASCII and in both byte orders") {
  check_type<std::int8_t>("char", "int8", DType::i8);
  check_type<std::uint8_t>("uchar", "uint8", DType::u8);
  check_type<std::int16_t>("short", "int16", DType::i16);
  check_type<std::uint16_t>("ushort", "uint16", DType::u16);
  check_type<std::int32_t>("int", "int32", DType::i32);
  check_type<std::uint32_t>("uint", "uint32", DType::u32);
  check_type<std::int64_t>("int64", "int64", DType::i64);
  check_type<std::uint64_t>("uint64", "uint64", DType::u64);
  check_type<float>("float", "float32", DType::f32);
  check_type<double>("double", "float64", DType::f64);
}

TEST_CASE("lists of vertices and elements before them are skipped") {
  const std::string before = "element empty 5\nelement camera 2\nproperty short a\nproperty list ushort float b\n";
  const std::string properties =
      "property list uchar int near\n" + kXyz + "property list int double far\nproperty uchar q\n";
  std::string text = header_of("ascii", properties, 2, before);
  text += "7 2 0.5 0.5\n8 0\n1 9 1 2 3 0 200\n0 4 5 6 2 9 9 201\n3 0 1 1\n";
  for (const bool big : {false, true}) {
    std::string bytes = header_of(big ? "binary_big_endian" : "binary_little_endian", properties, 2, before);
    for (const std::uint16_t items : {std::uint16_t{2}, std::uint16_t{0}}) {
      put<std::int16_t>(bytes, 7, big);
      put(bytes, items, big);
      for (unsigned i = 0; i < items; ++i) put(bytes, 0.5F, big);
    }
    for (int vertex = 0; vertex < 2; ++vertex) {
      put(bytes, static_cast<std::uint8_t>(1 - vertex), big);
      if (vertex == 0) put<std::int32_t>(bytes, 9, big);
      for (int axis = 1; axis <= 3; ++axis) put(bytes, static_cast<float>(3 * vertex + axis), big);
      put<std::int32_t>(bytes, 2 * vertex, big);
      for (int i = 0; i < 2 * vertex; ++i) put(bytes, 9.0, big);
      put(bytes, static_cast<std::uint8_t>(200 + vertex), big);
    }
    const DecodedCloud cloud = decode_cloud(ply_codec(), bytes);
    CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(cloud.values<std::uint8_t>("q") == std::vector<std::uint8_t>{200, 201});
    check_choice(ply_codec(), bytes, {1}, false);
    survive(ply_codec(), bytes, header_of("binary_big_endian", properties, 9, before));
  }
  const DecodedCloud cloud = decode_cloud(ply_codec(), text);
  CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(cloud.values<std::uint8_t>("q") == std::vector<std::uint8_t>{200, 201});
  survive(ply_codec(), text, header_of("ascii", properties, 9, before));
}

TEST_CASE("lines may end in three ways, and binary data may begin with a line end") {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    std::string header = header_of("binary_little_endian", kXyz, 1), text = header_of("ascii", kXyz, 1) + "1 2 3\n";
    for (std::string* bytes : {&header, &text})
      for (std::size_t at = 0; (at = bytes->find('\n', at)) != std::string::npos; at += end.size())
        bytes->replace(at, 1, end);
    CHECK(decode_cloud(ply_codec(), text).xyz == std::vector<float>{1, 2, 3});
    for (const char* first : {"\n\r\n\n", "\r\n\r\n"}) {
      const std::string bytes = header + first + std::string(8, '\0');
      float x = 0;
      std::memcpy(&x, first, 4);
      CHECK(decode_cloud(ply_codec(), bytes).xyz == std::vector<float>{x, 0, 0});
    }
  }
}

TEST_CASE("far coordinates keep their digits by an origin") {
  const std::string xyz = "property double x\nproperty double y\nproperty double z\n";
  std::string bytes = header_of("binary_little_endian", xyz, 2);
  for (const double value : {412345.678, 5912345.125, -17.5, 412346.678, 5912340.125, 3.25}) put(bytes, value, false);
  const DecodedCloud cloud = decode_cloud(ply_codec(), bytes);
  CHECK(cloud.header.origin == std::array<double, 3>{412345, 5912345, -18});
  CHECK(cloud.xyz == std::vector<float>{0.678F, 0.125F, 0.5F, 1.678F, -4.875F, 21.25F});
  check_choice(ply_codec(), bytes, {0}, true);
  check_choice(ply_codec(), bytes, {1}, true);
  const std::string text = header_of("ascii", kXyz, 1) + "412345.678 5912345.125 1\n";
  CHECK(decode_cloud(ply_codec(), text).xyz == std::vector<float>{0.678F, 0.125F, 0});
  const std::string near = header_of("ascii", kXyz, 1) + "65536 -65536 +1e-400\n";
  CHECK(decode_cloud(ply_codec(), near).xyz == std::vector<float>{65536, -65536, 0});
  std::string single = header_of("binary_little_endian", kXyz, 1);
  for (const float value : {412345.5F, 5912345.0F, 1.0F}) put(single, value, false);
  CHECK(decode_cloud(ply_codec(), single).header.origin == std::array<double, 3>{});
}

TEST_CASE("one message says what is wrong, and where") {
  const auto text = [](const std::string& vertices) {
    return header_of("ascii", kXyz + "property uchar q\n", 2) + vertices;
  };
  CHECK(fault_of(ply_codec(), text("1 2 3 4\n5 6 7 256\n")) == "ply: line 14: '256' is beyond the range of its type");
  CHECK(fault_of(ply_codec(), text("1 2 3 4\n5 6 7 1.5\n")) == "ply: line 14: '1.5' is not a whole number");
  CHECK(fault_of(ply_codec(), text("1 2 3 4\n\n5 1e999 7 1\n")) ==
        "ply: line 15: '1e999' is beyond the range of its type");
  CHECK(fault_of(ply_codec(), text("1 2 3 4.0\n5 nan inf 255")).empty());
  CHECK(fault_of(ply_codec(), text("1 2 3 4\n5 6 seven 1\n")) == "ply: line 14: 'seven' is not a number");
  CHECK(fault_of(ply_codec(), text("1 2 3 4\n5 6 7 \n       ")) ==
        "ply: line 14: fewer numbers than the header specifies for element 'vertex'");
  CHECK(fault_of(ply_codec(), text("1 2 3 4 5 6 7 8\n")) ==
        "ply: line 13: more numbers than the header specifies for element 'vertex'");
  CHECK(fault_of(ply_codec(), text("1 2 3 4          \n \n\n\n")) == "ply: ends before its last vertex");
  CHECK(fault_of(ply_codec(), text("1 2")) == "ply: 2 vertices do not fit the file");
  CHECK(fault_of(ply_codec(), header_of("binary_little_endian", kXyz, 1) + "12345678901").find("do not fit") !=
        std::string::npos);
  CHECK(fault_of(ply_codec(), header_of("binary_little_endian", kXyz, 4000000000) + "1").find("do not fit") !=
        std::string::npos);
  CHECK(fault_of(ply_codec(), header_of("ascii", "property float x\n", 1) + "1\n") ==
        "ply: vertices have no x, y and z");
  CHECK(fault_of(ply_codec(), "ply\nformat ascii 1.0\nend_header\n") == "ply: the header has no element 'vertex'");
  CHECK(fault_of(ply_codec(), "ply\nformat ascii 2.0\nend_header\n") == "ply: version '2.0'");
  CHECK(fault_of(ply_codec(), "ply\nelement vertex 0\n" + kXyz + "end_header\n") == "ply: the header has no format");
  CHECK(fault_of(ply_codec(), "ply\nformat ascii 1.0\nelement vertex -1\n").find("line 3") != std::string::npos);
  CHECK(decode_cloud(ply_codec(), header_of("ascii", kXyz, 0)).xyz.empty());
}

TEST_CASE("a line of text is one element, so numbers never come from the next line") {
  const std::string before = "element camera 1\nproperty short a\nproperty list uchar int b\n";
  const auto fault = [&](const std::string& lines) {
    return fault_of(ply_codec(), header_of("ascii", kXyz + "property list uchar int near\n", 2, before) + lines);
  };
  const std::string face = "3 0 1 0\n";
  CHECK(fault("7 1 2\n1 2 3 0\n4 5 6 1 9\n" + face).empty());
  const std::string fewer = "fewer numbers than the header specifies for element ";
  const std::string more = "more numbers than the header specifies for element ";
  CHECK(fault("7 1 2\n1 2\n4 5 6 1 9\n" + face) == "ply: line 17: " + fewer + "'vertex'");
  CHECK(fault("7 1 2\n1 2 3 0\n4 5 6 2 9\n" + face) == "ply: line 18: " + fewer + "'vertex'");
  CHECK(fault("7 1 2\n1 2 3 0 5\n4 5 6 1 9\n" + face) == "ply: line 17: " + more + "'vertex'");
  CHECK(fault("7 2 2\n1 2 3 0\n4 5 6 1 9\n" + face) == "ply: line 16: " + fewer + "'camera'");
  CHECK(fault("7 0 2\n1 2 3 0\n4 5 6 1 9\n" + face) == "ply: line 16: " + more + "'camera'");
  CHECK(fault("7 1 2\n1 2 3 0\n4 5 6 18446744073709551615 9\n" + face) == "ply: line 18: " + fewer + "'vertex'");
}

TEST_CASE("broken records end in values or a fault") {
  std::string bytes = header_of("binary_big_endian", kXyz + "property double t\n", 4);
  for (int i = 0; i < 80; ++i) bytes += static_cast<char>(i);
  survive(ply_codec(), bytes, header_of("binary_big_endian", kXyz, 9));
}

TEST_CASE("real files are read, but those without points") {
  const std::string without[] = {"no_vertex.ply", "sized_dims.ply", "unsized_dims.ply", "ply_empty_header.ply"};
  for (const auto& path : ::test::data_files("pointcloud/ply")) {
    CAPTURE(path.string());
    const auto read = ::test::read_file(path);
    const std::string bytes(reinterpret_cast<const char*>(read.data()), read.size());
    CHECK(ply_codec().recognises(read));
    const bool good = std::find(std::begin(without), std::end(without), path.filename().string()) == std::end(without);
    const std::string fault = fault_of(ply_codec(), bytes);
    CHECK_MESSAGE(fault.empty() == good, fault);
  }
}

}  // namespace penstock::test::ply_test
