#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/pcd.hpp>

#include "support/cloud_values.hpp"
#include "support/test_data.hpp"

namespace penstock::test::pcd_test {
namespace {

template <typename T>
void put(std::string& bytes, T value) {
  std::string raw(sizeof(T), '\0');
  std::memcpy(raw.data(), &value, sizeof(T));
  bytes += raw;
}

std::string header_of(const std::string& fields, const std::string& sizes, const std::string& types,
                      const std::string& counts, std::size_t points, const std::string& data) {
  return "# .PCD v.7 - Point Cloud Data file format\nVERSION .7\nFIELDS " + fields + "\nSIZE " + sizes + "\nTYPE " +
         types + "\nCOUNT " + counts + "\nWIDTH " + std::to_string(points) +
         "\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS " + std::to_string(points) + "\nDATA " + data + "\n";
}

/// LZF without any copies: runs of at most 32 bytes.
std::string compressed(const std::string& plain) {
  std::string packed;
  for (std::size_t at = 0; at < plain.size(); at += 32) {
    const std::string run = plain.substr(at, 32);
    packed += static_cast<char>(run.size() - 1);
    packed += run;
  }
  std::string bytes;
  put(bytes, static_cast<std::uint32_t>(packed.size()));
  put(bytes, static_cast<std::uint32_t>(plain.size()));
  return bytes + packed;
}

const std::string kMixed = "x _ y rgb z label feature rgba";

std::string mixed_header(std::size_t points, const std::string& data) {
  return header_of(kMixed, "4 1 4 4 4 2 8 4", "F U F F F I F U", "1 3 1 1 1 1 2 1", points, data);
}

/// Three points of it, in the way `data` says.
std::string mixed(const std::string& data) {
  std::string bytes = mixed_header(3, data), plain;
  std::array<std::string, 8> columns;
  for (int i = 0; i < 3; ++i) {
    std::array<std::string, 8> values;
    put(values[0], 1.5F + static_cast<float>(i));
    values[1] = "pad";
    put(values[2], 2.5F + static_cast<float>(i));
    values[3] = std::string{static_cast<char>(30 + i), static_cast<char>(20 + i), static_cast<char>(10 + i), '\0'};
    put(values[4], i == 1 ? std::nanf("") : 3.5F);
    put(values[5], static_cast<std::int16_t>(-7 * i));
    put(values[6], 0.25 * i);
    put(values[6], 1e300);
    values[7] = std::string{'\3', '\2', '\1', static_cast<char>(200 + i)};
    for (std::size_t k = 0; k < 8; ++k) {
      plain += values[k];
      columns[k] += values[k];
    }
  }
  if (data == "binary") return bytes + plain;
  if (data == "binary_compressed") {
    std::string all;
    for (const std::string& column : columns) all += column;
    return bytes + compressed(all);
  }
  for (int i = 0; i < 3; ++i) {
    float rgb = 0;
    const std::uint32_t bits = static_cast<std::uint32_t>(10 + i) << 16 | static_cast<std::uint32_t>(20 + i) << 8 |
                               static_cast<std::uint32_t>(30 + i);
    std::memcpy(&rgb, &bits, 4);
    std::array<char, 300> line{};
    std::snprintf(line.data(), line.size(), "%g 112 97 100 %g %.9g %s %d %g 1e300 %u\n", 1.5 + i, 2.5 + i,
                  static_cast<double>(rgb), i == 1 ? "nan" : "3.5", -7 * i, 0.25 * i,
                  static_cast<unsigned>(200 + i) << 24 | 0x010203U);
    bytes += line.data();
  }
  return bytes;
}

template <typename T>
void check_type(const std::string& type, DType dtype) {
  CAPTURE(type);
  const std::string size = std::to_string(sizeof(T));
  const auto header = [&](const std::string& data) {
    return header_of("a X Y Z", size + " " + size + " " + size + " " + size,
                     type + " " + type + " " + type + " " + type, "1 1 1 1", 2, data);
  };
  const T low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
  std::string records, columns;
  for (const T value : {low, T{1}, T{2}, T{3}, high, T{4}, T{5}, T{6}}) put(records, value);
  for (const T value : {low, high, T{1}, T{4}, T{2}, T{5}, T{3}, T{6}}) put(columns, value);
  for (const std::string& bytes : {header("binary") + records, header("binary_compressed") + compressed(columns)}) {
    const DecodedCloud cloud = decode_cloud(pcd_codec(), bytes);
    CHECK(cloud.xyz == std::vector<float>{1, 2, 3, 4, 5, 6});
    REQUIRE(cloud.header.attributes == std::vector<PointAttribute>{{"a", dtype}});
    CHECK(cloud.values<T>("a") == std::vector<T>{low, high});
  }
  check_choice(pcd_codec(), header("binary") + records, {1}, true);
}

}  // namespace

TEST_CASE("every type is read from records and from compressed columns") {
  check_type<std::int8_t>("I", DType::i8);
  check_type<std::uint8_t>("U", DType::u8);
  check_type<std::int16_t>("I", DType::i16);
  check_type<std::uint16_t>("U", DType::u16);
  check_type<std::int32_t>("I", DType::i32);
  check_type<std::uint32_t>("U", DType::u32);
  check_type<std::int64_t>("I", DType::i64);
  check_type<std::uint64_t>("U", DType::u64);
  check_type<float>("F", DType::f32);
  check_type<double>("F", DType::f64);
}

TEST_CASE("padding, colours, counts and points that are no numbers come out alike of all three ways to store") {
  for (const char* data : {"ascii", "binary", "binary_compressed"}) {
    CAPTURE(data);
    const std::string bytes = mixed(data);
    const DecodedCloud cloud = decode_cloud(pcd_codec(), bytes);
    using Names = std::vector<PointAttribute>;
    CHECK(cloud.header.attributes == Names{{"red", DType::u8},
                                           {"green", DType::u8},
                                           {"blue", DType::u8},
                                           {"label", DType::i16},
                                           {"feature[0]", DType::f64},
                                           {"feature[1]", DType::f64},
                                           {"red", DType::u8},
                                           {"green", DType::u8},
                                           {"blue", DType::u8},
                                           {"alpha", DType::u8}});
    CHECK(cloud.header.origin == std::array<double, 3>{});
    CHECK(cloud.xyz[0] == 1.5F);
    CHECK(cloud.xyz[4] == 3.5F);
    CHECK(std::isnan(cloud.xyz[5]));
    CHECK(cloud.xyz[8] == 3.5F);
    CHECK(cloud.values<std::int16_t>("label") == std::vector<std::int16_t>{0, -7, -14});
    CHECK(cloud.values<double>("feature[0]") == std::vector<double>{0, 0.25, 0.5});
    CHECK(cloud.values<double>("feature[1]") == std::vector<double>{1e300, 1e300, 1e300});
    CHECK(cloud.values<std::uint8_t>("alpha") == std::vector<std::uint8_t>{200, 201, 202});
    CHECK(cloud.values<std::uint8_t>("red") == std::vector<std::uint8_t>{1, 1, 1});
    CHECK(cloud.values<std::uint8_t>("blue") == std::vector<std::uint8_t>{3, 3, 3});
    check_choice(pcd_codec(), bytes, {0, 2}, data == std::string("binary"));
    check_choice(pcd_codec(), bytes, {1, 2}, data == std::string("binary"));
    survive(pcd_codec(), bytes, mixed_header(3, data));
  }
}

TEST_CASE("a packed colour is told apart by its bytes") {
  const std::string bytes = header_of("x y z rgb", "4 4 4 4", "F F F U", "1 1 1 1", 1, "ascii") + "1 2 3 16711935\n";
  const DecodedCloud cloud = decode_cloud(pcd_codec(), bytes);
  CHECK(cloud.values<std::uint8_t>("red") == std::vector<std::uint8_t>{255});
  CHECK(cloud.values<std::uint8_t>("green") == std::vector<std::uint8_t>{0});
  CHECK(cloud.values<std::uint8_t>("blue") == std::vector<std::uint8_t>{255});
}

TEST_CASE("what a header leaves out has a usual value") {
  const std::string text = "VERSION .5\nCOLUMNS x y z\nDATA ascii\n1 2 3\n\n4 5 6";
  CHECK(pcd_codec().recognises(as_value(text)));
  CHECK(decode_cloud(pcd_codec(), text).xyz == std::vector<float>{1, 2, 3, 4, 5, 6});
  std::string bytes = "FIELDS x y z\nWIDTH 1\nDATA binary\r\n";
  for (const float value : {1.0F, 2.0F, 3.0F}) put(bytes, value);
  CHECK(decode_cloud(pcd_codec(), bytes).xyz == std::vector<float>{1, 2, 3});
  const std::string open =
      "FIELDS x y z\nDATA binary\n" + bytes.substr(bytes.size() - 12) + bytes.substr(bytes.size() - 12);
  CHECK(decode_cloud(pcd_codec(), open).xyz == std::vector<float>{1, 2, 3, 1, 2, 3});
  const std::string organised = "FIELDS x y z\nWIDTH 2\nHEIGHT 2\nDATA ascii\n0,0,1\n0\t0\t2\n0 0 3\n0 0 4 5 6\n";
  CHECK(decode_cloud(pcd_codec(), organised).header.points == 4);
}

TEST_CASE("coordinates of text keep their digits by an origin, those of float32 are as stored") {
  const std::string text = header_of("x y z", "4 4 4", "F F F", "1 1 1", 2, "ascii") +
                           "289814.15 4320978.61 170.76\n289814.64 4320978.84 170.76\n";
  const DecodedCloud cloud = decode_cloud(pcd_codec(), text);
  CHECK(cloud.header.origin == std::array<double, 3>{289814, 4320978, 170});
  CHECK(cloud.world()[4] == doctest::Approx(4320978.84).epsilon(1e-12));
}

TEST_CASE("one message says what is wrong, and where") {
  const auto fault = [](const std::string& bytes) { return fault_of(pcd_codec(), bytes); };
  const std::string xyz = "FIELDS x y z\n";
  CHECK(fault(xyz + "WIDTH 2\nPOINTS 3\nDATA ascii\n1 2 3\n") == "pcd: POINTS is 3, but WIDTH times HEIGHT is 2");
  CHECK(fault(xyz + "WIDTH 2\nDATA ascii\n1 2 3\n4 5  \n") == "pcd: line 5: fewer numbers than FIELDS specifies");
  CHECK(fault(xyz + "WIDTH 2\nDATA ascii\n1 2 3\n             ") == "pcd: ends before its last point");
  CHECK(fault(xyz + "WIDTH 2\nDATA ascii\n1 2 3\n4 1e999 6\n") ==
        "pcd: line 5: '1e999' is beyond the range of its type");
  CHECK(fault(xyz + "WIDTH 4000000000\nDATA ascii\n1 2 3\n").find("do not fit") != std::string::npos);
  CHECK(fault(xyz + "WIDTH 4000000000\nDATA binary\n1 2 3\n").find("do not fit") != std::string::npos);
  CHECK(fault(xyz + "WIDTH 4000000000\nHEIGHT 4000000000\nDATA binary\n").find("4,294,967,295") != std::string::npos);
  CHECK(fault(xyz + "SIZE 4 4\nDATA ascii\n") == "pcd: SIZE has 2 entries, but FIELDS has 3");
  CHECK(fault(xyz + "SIZE 3 3 3\nDATA ascii\n") == "pcd: unknown type 'F' of 3 bytes");
  CHECK(fault(xyz + "COUNT 1 1 5000\nDATA ascii\n") == "pcd: more than 4,096 numbers in a point");
  CHECK(fault("FIELDS x y\nDATA ascii\n") == "pcd: points have no x, y and z");
  CHECK(fault("DATA ascii\n") == "pcd: the header has no FIELDS");
  CHECK(fault(xyz) == "pcd: ends before the DATA line");
  CHECK(fault("1 2 3\n4 5 6\n") == "pcd: line 1: '1' is not part of a header");
  // Little that claims to be much.
  std::string bomb = xyz + "WIDTH 300000000\nDATA binary_compressed\n";
  put(bomb, std::uint32_t{3});
  put(bomb, std::uint32_t{3600000000U});
  CHECK(fault(bomb + "abc").find("cannot expand") != std::string::npos);
}

TEST_CASE("real files are read, but the one without a header") {
  for (const auto& path : ::test::data_files("pointcloud/pcd")) {
    CAPTURE(path.string());
    const auto read = ::test::read_file(path);
    const std::string bytes(reinterpret_cast<const char*>(read.data()), read.size());
    const bool good = path.filename() != "missingheader.pcd";
    CHECK(pcd_codec().recognises(read) == good);
    const std::string fault = fault_of(pcd_codec(), bytes);
    CHECK_MESSAGE(fault.empty() == good, fault);
  }
}

}  // namespace penstock::test::pcd_test
