#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/las.hpp>
#include <transforms/clouds/codecs/las_header.hpp>

#include "support/clouds.hpp"
#include "support/expected_files.hpp"
#include "support/las_files.hpp"
#include "support/test_data.hpp"

namespace penstock::test::las_test {
namespace {

const FieldSchema kSchema{.name = "las", .codec = "las"};

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// What a read engine would hand over.
std::vector<std::byte> read_ranges(std::span<const std::byte> bytes, std::span<const ByteRange> ranges) {
  std::vector<std::byte> read;
  for (const ByteRange& range : ranges) {
    const auto part = bytes.subspan(range.begin, range.end - range.begin);
    read.insert(read.end(), part.begin(), part.end());
  }
  return read;
}

void check_selection(std::span<const std::byte> bytes, std::span<const std::uint32_t> numbers) {
  const auto recorded = las_codec().header(bytes);
  const FieldHeader header{.schema = &kSchema, .header = recorded, .length = bytes.size()};
  std::vector<ByteRange> ranges;
  REQUIRE(las_codec().select_points(header, numbers, ranges));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    CHECK(ranges[i].begin < ranges[i].end);
    CHECK(ranges[i].end <= bytes.size());
    if (i > 0) CHECK(ranges[i - 1].end < ranges[i].begin);
  }
  const auto read = read_ranges(bytes, ranges);
  const auto decoder = las_codec().cloud_decoder({});
  const PointChoice choice{.all = false, .numbers = numbers};
  const FieldBytes some{.schema = &kSchema, .bytes = read, .ranges = ranges};
  CHECK(same(decode_cloud(*decoder, some, choice), chosen(decode_cloud(las_codec(), bytes), numbers)));
  const FieldBytes whole{.schema = &kSchema, .bytes = bytes};
  CHECK(same(decode_cloud(*decoder, whole, choice), chosen(decode_cloud(las_codec(), bytes), numbers)));
}

}  // namespace

TEST_CASE("every version and point format is read, each attribute from its place") {
  for (unsigned minor = 0; minor <= 4; ++minor) {
    for (unsigned format = 0; format <= 10; ++format) {
      CAPTURE(minor);
      CAPTURE(format);
      const LasFile file{.minor = minor, .format = format};
      const auto bytes = las_file(file);
      REQUIRE(las_codec().recognises(bytes));
      const DecodedCloud cloud = decode_cloud(las_codec(), bytes);
      REQUIRE(cloud.header.points == file.points);
      CHECK(cloud.header.origin == file.lower);
      CHECK(cloud.header.chunk_points == 1);
      const bool newer = format >= 6;
      const std::size_t gps = newer ? 22 : 20;
      const bool has_gps = newer || format == 1 || format >= 3;
      const std::size_t colours = has_gps ? gps + 8 : gps;
      for (std::size_t i = 0; i < file.points; ++i) {
        const auto record = std::span(bytes).subspan(file.header_bytes() + i * file.record_bytes());
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double place = value_at<std::int32_t>(record, 4 * axis) * file.scale[axis] + file.offset[axis];
          CHECK(cloud.xyz[3 * i + axis] == static_cast<float>(place - file.lower[axis]));
        }
        const auto bits = value_at<std::uint8_t>(record, 14);
        CHECK(cloud.values<std::uint16_t>("intensity")[i] == value_at<std::uint16_t>(record, 12));
        CHECK(cloud.values<std::uint8_t>("return_number")[i] == (newer ? bits & 15 : bits & 7));
        CHECK(cloud.values<std::uint8_t>("number_of_returns")[i] == (newer ? bits >> 4 : bits >> 3 & 7));
        CHECK(cloud.values<std::uint8_t>("classification")[i] ==
              (newer ? value_at<std::uint8_t>(record, 16) : value_at<std::uint8_t>(record, 15) & 31));
        CHECK(cloud.values<std::uint8_t>("edge_of_flight_line")[i] ==
              (newer ? value_at<std::uint8_t>(record, 15) >> 7 : bits >> 7));
        CHECK(cloud.values<std::uint16_t>("point_source_id")[i] == value_at<std::uint16_t>(record, newer ? 20 : 18));
        if (newer) CHECK(cloud.values<std::int16_t>("scan_angle")[i] == value_at<std::int16_t>(record, 18));
        if (!newer) CHECK(cloud.values<std::int8_t>("scan_angle_rank")[i] == value_at<std::int8_t>(record, 16));
        if (has_gps) CHECK(cloud.values<std::uint64_t>("gps_time")[i] == value_at<std::uint64_t>(record, gps));
        if (cloud.attributes.count("blue") > 0)
          CHECK(cloud.values<std::uint16_t>("blue")[i] == value_at<std::uint16_t>(record, colours + 4));
        if (format == 8 || format == 10)
          CHECK(cloud.values<std::uint16_t>("nir")[i] == value_at<std::uint16_t>(record, 36));
      }
      CHECK(cloud.attributes.count("gps_time") == (has_gps ? 1 : 0));
      CHECK(cloud.attributes.count("red") ==
            (format == 2 || format == 3 || format == 5 || format == 7 || format == 8 || format == 10));
      CHECK(cloud.attributes.count("z_t") == (format == 4 || format == 5 || format == 9 || format == 10));
    }
  }
}

TEST_CASE("extra bytes have their names, dtypes, scale and offset; the rest of a record is ExtraBytes") {
  LasFile file{.minor = 4, .format = 6, .extra_bytes = 2 + 12 + 8 + 3 + 2};
  file.extra_vlr = extra_record(3, 0, "echo width") + extra_record(25, 0, "normal") + extra_record(6, 8, "unused?") +
                   extra_record(2, 24, "level", 0.5, -3) + extra_record(0, 2, "blob");
  file.extra_vlr[2 * 192 + 2] = 10;  // float64
  const auto bytes = las_file(file);
  const DecodedCloud cloud = decode_cloud(las_codec(), bytes);
  const auto names = attribute_names(cloud.header);
  CHECK(std::vector(names.end() - 11, names.end()) ==
        std::vector<std::string>{"gps_time", "echo width", "normal[0]", "normal[1]", "normal[2]", "unused?", "level",
                                 "blob[0]", "blob[1]", "ExtraBytes[0]", "ExtraBytes[1]"});
  for (std::size_t i = 0; i < file.points; ++i) {
    const auto extra = std::span(bytes).subspan(bytes.size() - (file.points - i) * file.record_bytes() + 30);
    CHECK(cloud.values<std::uint16_t>("echo width")[i] == value_at<std::uint16_t>(extra, 0));
    CHECK(cloud.values<std::uint32_t>("normal[2]")[i] == value_at<std::uint32_t>(extra, 10));
    CHECK(cloud.values<double>("level")[i] == value_at<std::int8_t>(extra, 22) * 0.5 - 3);
    CHECK(cloud.values<std::uint8_t>("ExtraBytes[1]")[i] == value_at<std::uint8_t>(extra, 26));
  }
}

TEST_CASE("the origin is the lower bound, or the header's offset where the bounds are implausible") {
  LasFile file;
  auto origin = [&] { return decode_cloud(las_codec(), las_file(file)).header.origin; };
  CHECK(origin() == file.lower);
  file.lower[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK(origin() == std::array{file.offset[0], file.lower[1], file.lower[2]});
  file.lower = {1, 0, 50};  // out of reach; out of reach; above the upper one
  file.offset = {1e9, 1e9, 7};
  CHECK(origin() == file.offset);
}

TEST_CASE("bounds that do not contain the first point do not cost precision") {
  LasFile file{.points = 500, .scale = {0.001, 0.001, 0.001}, .offset = {500000, 0, 0}};
  file.lower = {0, 1e6, -3};
  file.upper = {1e5, 2e6, -2};  // on z: outside as well, but so near that float32 keeps each step
  for (const std::size_t other_vlr : {std::size_t{0}, std::size_t{9000}}) {
    file.other_vlr = other_vlr;
    const auto bytes = las_file(file);
    const DecodedCloud cloud = decode_cloud(las_codec(), bytes);
    CHECK(cloud.header.origin == std::array{500000.0, 0.0, -3.0});
    for (std::size_t i = 0; i < file.points; ++i) {
      const auto record = std::span(bytes).subspan(bytes.size() - (file.points - i) * file.record_bytes());
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double stored = value_at<std::int32_t>(record, 4 * axis) * file.scale.at(axis) + file.offset.at(axis);
        CHECK(std::abs(cloud.xyz[3 * i + axis] + cloud.header.origin.at(axis) - stored) < 0.0005);
      }
    }
    const std::vector<std::uint32_t> none, later{1, 2, 7, 400}, with_first{0, 7};
    check_selection(bytes, none);
    check_selection(bytes, later);
    check_selection(bytes, with_first);
    file.points = 0;
    CHECK(decode_cloud(las_codec(), las_file(file)).header.origin == file.lower);
    file.points = 500;
  }
}

TEST_CASE("counts that the file does not hold are corrupt, by both numbers") {
  auto bytes = las_file({.points = 10, .behind = std::string(19, 'x')});
  put(bytes, 107, std::uint32_t{11});
  CHECK(refusal(las_codec(), bytes) == "corrupt: las: the header counts 11 points, but the file contains 10");
  put(bytes, 107, std::uint32_t{9});
  CHECK(decode_cloud(las_codec(), bytes).header.points == 9);
  put(bytes, 107, std::uint32_t{0});
  CHECK(decode_cloud(las_codec(), bytes).header.points == 0);
  auto newer = las_file({.minor = 4, .format = 6});
  put(newer, 247, ~std::uint64_t{0});
  CHECK(refusal(las_codec(), newer) ==
        "corrupt: las: the header counts 18446744073709551615 points, but the file contains 10");
  auto legacy = las_file({.minor = 4, .format = 1});
  put(legacy, 247, std::uint64_t{0});
  CHECK(decode_cloud(las_codec(), legacy).header.points == 10);
}

TEST_CASE("headers that contradict themselves are refused") {
  const auto good = las_file({.minor = 4, .format = 7, .extra_bytes = 4, .extra_vlr = extra_record(5, 0, "a")});
  CHECK(refusal(las_codec(), good).empty());
  auto with = [&](std::size_t at, auto value) {
    auto bytes = good;
    put(bytes, at, value);
    return refusal(las_codec(), bytes).substr(0, refusal(las_codec(), bytes).find(':'));
  };
  CHECK(with(0, 'X') == "corrupt");
  CHECK(with(24, std::uint8_t{2}) == "unsupported");
  CHECK(with(25, std::uint8_t{5}) == "unsupported");
  CHECK(with(94, std::uint16_t{227}) == "corrupt");
  CHECK(with(96, std::uint32_t{300}) == "corrupt");
  CHECK(with(96, ~std::uint32_t{0}) == "corrupt");
  CHECK(with(104, std::uint8_t{11}) == "unsupported");
  CHECK(with(104, std::uint8_t{0x87}) == "unsupported");
  CHECK(with(105, std::uint16_t{35}) == "corrupt");
  CHECK(with(131, std::numeric_limits<double>::infinity()) == "corrupt");
  CHECK(with(375 + 20, std::uint16_t{2000}) == "corrupt");
  CHECK(with(375 + 54 + 2, std::uint8_t{7}) == "corrupt");
}

TEST_CASE("chosen points are read by their ranges alone") {
  for (const LasFile& file : {LasFile{.minor = 2, .format = 3, .points = 500},
                              LasFile{.minor = 4,
                              .format = 6,
                              .points = 500,
                              .extra_bytes = 70,
                              .extra_vlr = extra_record(7, 0, "a") + extra_record(10, 0, "b"),
                              .other_vlr = 300}}) {
    const auto bytes = las_file(file);
    const std::vector<std::uint32_t> ends{0, 499}, neighbours{7, 8, 9, 12, 400, 401}, none;
    check_selection(bytes, ends);
    check_selection(bytes, neighbours);
    check_selection(bytes, none);
    check_selection(bytes, some_numbers(500, 60, 1));
    check_selection(bytes, some_numbers(500, 500, 2));
  }
}

TEST_CASE("what is recorded tells what the file tells, is small, and is checked against the length") {
  const LasFile file{
      .minor = 4, .format = 6, .extra_bytes = 4, .extra_vlr = extra_record(5, 0, "a"), .other_vlr = 9000};
  const auto bytes = las_file(file);
  const auto recorded = las_codec().header(bytes);
  CHECK(recorded.size() < 700);
  const FieldHeader header{.schema = &kSchema, .header = recorded, .length = bytes.size()};
  const auto cloud = las_codec().cloud(header);
  const CloudHeader opened = decode_cloud(las_codec(), bytes).header;
  REQUIRE(cloud);
  CHECK(cloud->points == opened.points);
  CHECK(cloud->origin == opened.origin);
  CHECK(cloud->attributes == opened.attributes);
  CHECK(las_codec().layout(header)->shape == Shape{10, 3});
  CHECK_THROWS_AS(las_codec().cloud({.schema = &kSchema, .header = recorded, .length = bytes.size() - 1}), Error);
  CHECK_FALSE(las_codec().cloud({.schema = &kSchema, .header = {}, .length = bytes.size()}));
  // The VLR of extra bytes lies behind the prefix: the whole file is needed.
  CHECK(las_codec().header(std::span(bytes).first(las_codec().prefix_bytes())).empty());
  const auto plain = las_file({.minor = 4, .format = 6, .points = 100, .other_vlr = 9000});
  CHECK(las_codec().header(std::span(plain).first(las_codec().prefix_bytes())) == las_codec().header(plain));
}

TEST_CASE("damaged files end in values or in a data fault") {
  survive_damage(las_codec(), las_file({.minor = 2, .format = 3}), 2000);
  survive_damage(las_codec(),
                 las_file({.minor = 4, .format = 10, .extra_bytes = 6, .extra_vlr = extra_record(25, 8, "v", 2)}),
                 3000);
}

TEST_CASE("real files have the points and bounds that laspy finds") {
  int read = 0, refused = 0;
  for (const ExpectedFile& file : expected_files("")) {
    if (!file.name.ends_with(".las") || file.reader != "laspy") continue;
    CAPTURE(file.name);
    const auto bytes = ::test::read_file(file.path);
    if (!las_codec().recognises(bytes)) continue;
    if (file.outcome == "error") {
      CHECK(refusal(las_codec(), bytes).starts_with("corrupt"));
      ++refused;
    }
    if (file.outcome != "ok") continue;
    const DecodedCloud cloud = decode_cloud(las_codec(), bytes);
    ++read;
    CHECK(cloud.header.points == std::stoull(file.fact("points=")));
    const std::string corner = file.fact("min=");
    if (corner.empty()) continue;
    check_lower_corner(cloud, corner);
    if (cloud.header.points > 0) check_selection(bytes, some_numbers(cloud.header.points, 20, 3));
  }
  MESSAGE(read << " files read, " << refused << " refused");
}

}  // namespace penstock::test::las_test
