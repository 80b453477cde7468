#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/las.hpp>
#include <transforms/clouds/laz/arithmetic_decoder.hpp>
#include <transforms/clouds/laz/laz.hpp>

#include "support/clouds.hpp"
#include "support/expected_files.hpp"
#include "support/las_files.hpp"
#include "support/laz_files.hpp"
#include "support/test_data.hpp"

namespace penstock::test::laz_test {
namespace {

const FieldSchema kSchema{.name = "laz", .codec = "laz"};

// Real files by their names; only those that are not large, for tests that decode them thousands of times.
std::vector<std::filesystem::path> laz_files() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"pointcloud/laz", "pointcloud/copc", "pointcloud/trees"}) {
    for (const auto& path : ::test::data_files(folder)) {
      if (laz_codec().recognises(::test::read_file(path))) files.push_back(path);
    }
  }
  return files;
}

// One chunk, of one point, written by hand: a LAZ file needs no coding for the first point of a chunk.
std::vector<std::byte> single_point_file(unsigned format, std::uint32_t points = 1,
                                         std::uint32_t chunk_points = 50000) {
  const bool layered = format >= 6;
  std::vector<std::byte> bytes = laz_head(format, points, chunk_points);
  const std::size_t at = bytes.size();
  bytes.resize(at + 8 + (layered ? 30 + 4 + 36 : 20 + 4));
  put(bytes, at, std::int64_t{-1});  // the table is said to be told of at the end, and is not
  for (std::size_t i = 0; i < (layered ? 30U : 20U); ++i) put(bytes, at + 8 + i, static_cast<std::uint8_t>(i));
  if (layered) put(bytes, at + 8 + 30, points);
  return bytes;
}

}  // namespace

TEST_CASE("the running median lets the greatest or the least of five values go, by the side the last one came on") {
  StreamingMedian median;
  std::vector<std::int32_t> medians;
  for (const std::int32_t value : {5, 7, -3, 9, 9, 9, 1, 1, 1, 1}) {
    median.add(value);
    medians.push_back(median.get());
  }
  CHECK(medians == std::vector<std::int32_t>{0, 0, 0, 0, 5, 9, 9, 5, 1, 1});
}

TEST_CASE("a file without a table of chunks is read chunk after chunk") {
  for (const unsigned format : {0U, 6U}) {
    CAPTURE(format);
    const auto bytes = single_point_file(format);
    REQUIRE(laz_codec().recognises(bytes));
    REQUIRE_FALSE(las_codec().recognises(bytes));
    const DecodedCloud cloud = decode_cloud(laz_codec(), bytes);
    CHECK(cloud.header.points == 1);
    CHECK(cloud.header.chunk_points == 1);
    CHECK(cloud.values<std::uint16_t>("intensity")[0] == 0x0D0C);
  }
}

TEST_CASE("what the bytes cannot hold is refused before memory is asked for") {
  CHECK(refusal(laz_codec(), single_point_file(0, 2)).starts_with("corrupt"));
  CHECK(refusal(laz_codec(), single_point_file(6, 2)).starts_with("corrupt"));
  CHECK(refusal(laz_codec(), single_point_file(0, 4'000'000'000U, 0xFFFFFFFE)) ==
        "corrupt: laz: the header counts 4000000000 points, which 32 bytes cannot hold");
  CHECK(refusal(laz_codec(), single_point_file(0, 1, 0xFFFFFFFF)) == "corrupt: laz: the chunk table is missing");
  CHECK(refusal(laz_codec(), single_point_file(0, 1, 0)) == "corrupt: laz: the chunk table is missing");  // variable
}

TEST_CASE("real files have the points and bounds that laspy finds, and chosen points are theirs") {
  int read = 0, refused = 0;
  std::vector<ExpectedFile> files = expected_files("pointcloud/");
  std::ranges::copy(expected_files("found/pointcloud/"), std::back_inserter(files));
  for (const ExpectedFile& file : files) {
    if (file.reader != "laspy") continue;
    const auto bytes = ::test::read_file(file.path);
    if (!laz_codec().recognises(bytes)) continue;
    CAPTURE(file.name);
    if (file.outcome != "ok") {
      const std::string why = refusal(laz_codec(), bytes);
      // One of them is sound: items of version 1 in one chunk without a table, which laspy's reader looks for.
      const bool sound = file.name.ends_with("1.2r0.laz");
      const bool refusal = why.starts_with("corrupt: laz") || why.starts_with("unsupported: laz");
      CHECK_MESSAGE((sound ? why.empty() : refusal), why);
      if (sound) {
        const auto newer = ::test::read_file(file.path.parent_path() / "simple.laz");
        CHECK(same(decode_cloud(laz_codec(), bytes), decode_cloud(laz_codec(), newer)));
      }
      ++refused;
      continue;
    }
    const DecodedCloud cloud = decode_cloud(laz_codec(), bytes);
    ++read;
    REQUIRE(cloud.header.points == std::stoull(file.fact("points=")));
    check_lower_corner(cloud, file.fact("min="));
    // Coordinates alone skip layers; chosen points skip chunks. Both are what all of it is.
    const FieldBytes field{.schema = &kSchema, .bytes = bytes};
    const auto bare = laz_codec().cloud_decoder({});
    CHECK(decode_cloud(*bare, field, {}, false).xyz == cloud.xyz);
    const auto numbers = some_numbers(cloud.header.points, 30, 5);
    const PointChoice choice{.all = false, .numbers = numbers};
    const DecodedCloud some = chosen(cloud, numbers);
    CHECK(same(decode_cloud(laz_codec(), bytes, choice), some));
    CHECK(decode_cloud(*bare, field, choice, false).xyz == some.xyz);
    CHECK(same(decode_cloud(*bare, field, choice), some));  // of which it was not told
    const auto one = laz_codec().cloud_decoder({.attributes = {"classification"}});
    one->open(field);
    std::vector<std::byte> classes(cloud.header.points);
    one->attribute(field, {}, attribute_number(cloud.header, "classification"), classes.data());
    CHECK(classes == cloud.attributes.at("classification"));
    // The header tells of a file what opening it does.
    const auto recorded = laz_codec().header(bytes);
    const auto stated = laz_codec().cloud({.schema = &kSchema, .header = recorded, .length = bytes.size()});
    REQUIRE(stated);
    CHECK(stated->points == cloud.header.points);
    CHECK(stated->origin == cloud.header.origin);
    CHECK(stated->chunk_points == cloud.header.chunk_points);
    CHECK(stated->attributes == cloud.header.attributes);
  }
  MESSAGE(read << " files read, " << refused << " that laspy refuses");
}

TEST_CASE("damaged files end in values or in a data fault") {
  for (const unsigned format : {0U, 6U}) survive_damage(laz_codec(), single_point_file(format), 2000);
  for (const auto& path : laz_files()) {
    const auto bytes = ::test::read_file(path);
    if (bytes.size() > 40'000) continue;
    CAPTURE(path.string());
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {  // cuts, and flips in header, table and streams
      std::vector<std::byte> changed(bytes.begin(), bytes.end());
      if (round % 3 == 0) changed.resize(random() % changed.size());
      for (int i = 0; i < round % 3 && !changed.empty(); ++i) {
        const std::size_t area = round % 2 == 0 ? changed.size() : std::min<std::size_t>(changed.size(), 700);
        changed[random() % area] ^= static_cast<std::byte>(1U << random() % 8);
      }
      decodes_or_refuses(laz_codec(), changed);
    }
    for (std::size_t tail = 1; tail <= 64 && tail < bytes.size(); ++tail) {  // the table of chunks, and its end
      std::vector<std::byte> changed(bytes.begin(), bytes.end());
      changed[bytes.size() - tail] ^= std::byte{0x41};
      decodes_or_refuses(laz_codec(), changed);
    }
  }
}

}  // namespace penstock::test::laz_test
