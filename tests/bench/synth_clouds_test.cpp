#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <bench/measure/units.hpp>
#include <bench/synth/las_writer.hpp>
#include <bench/synth/workload.hpp>
#include <penstock/error.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::synth_clouds_test {

namespace fs = std::filesystem;

namespace {

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

template <typename T>
T at(const std::string& bytes, std::size_t offset) {
  T value;
  if (offset + sizeof(value) > bytes.size()) throw std::out_of_range("the file ends early");
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

/// A LAS file as its header and its records tell, each told apart from the other.
struct Las {
  unsigned minor = 0, format = 0;
  std::uint64_t count = 0, first_returns = 0;
  std::array<double, 3> low{}, high{};  // of the header
  struct Point {
    std::array<double, 3> place;
    unsigned number, returns, classification;
    double gps_time;
  };
  std::vector<Point> points = {};
};

Las read_las(const std::string& bytes) {
  REQUIRE(bytes.substr(0, 4) == "LASF");
  Las las{.minor = at<std::uint8_t>(bytes, 25), .format = at<std::uint8_t>(bytes, 104)};
  const bool modern = las.minor == 4;
  las.count = modern ? at<std::uint64_t>(bytes, 247) : at<std::uint32_t>(bytes, 107);
  las.first_returns = modern ? at<std::uint64_t>(bytes, 255) : at<std::uint32_t>(bytes, 111);
  const std::size_t record_bytes = at<std::uint16_t>(bytes, 105);
  std::size_t record = at<std::uint32_t>(bytes, 96);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    las.high[axis] = at<double>(bytes, 179 + 16 * axis);
    las.low[axis] = at<double>(bytes, 187 + 16 * axis);
  }
  for (; record < bytes.size(); record += record_bytes) {
    Las::Point point{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      point.place[axis] = at<std::int32_t>(bytes, record + 4 * axis) * at<double>(bytes, 131 + 8 * axis) +
                          at<double>(bytes, 155 + 8 * axis);
    }
    const auto flags = at<std::uint8_t>(bytes, record + 14);
    point.number = modern ? flags & 15U : flags & 7U;
    point.returns = modern ? flags >> 4U : flags >> 3U & 7U;
    point.classification = at<std::uint8_t>(bytes, record + (modern ? 16 : 15));
    point.gps_time = at<double>(bytes, record + (modern ? 22 : 20));
    las.points.push_back(point);
  }
  REQUIRE(record == bytes.size());
  return las;
}

void check_consistent(const Las& las) {
  CHECK(las.count == las.points.size());
  auto low = las.points.at(0).place, high = low;
  std::uint64_t firsts = 0, broken = 0;
  for (std::size_t i = 0; i < las.points.size(); ++i) {
    const Las::Point& point = las.points[i];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], point.place[axis]);
      high[axis] = std::max(high[axis], point.place[axis]);
    }
    firsts += point.number == 1;
    if (point.number == 0 || point.number > point.returns) ++broken;
    if (i == 0 || point.number == 1) continue;
    const Las::Point& before = las.points[i - 1];
    // Further down the same pulse.
    if (before.number + 1 != point.number || before.returns != point.returns || before.gps_time != point.gps_time ||
        before.place[2] <= point.place[2])
      ++broken;
  }
  CHECK(broken == 0);
  CHECK(firsts == las.first_returns);
  CHECK(low == las.low);
  CHECK(high == las.high);
}

}  // namespace

TEST_CASE("the same seed gives the same clouds whatever the number of workers, another seed gives others") {
  const test::TemporaryFolder folder;
  for (const CloudLayout layout : {CloudLayout::trees, CloudLayout::plots}) {
    SynthCloudOptions options{.files = {.count = 7, .seed = 5, .workers = 1, .classes = 3}, .points = {900, 3000}};
    options.layout = layout;
    synth_clouds(folder / "one", options);
    options.files.workers = 3;
    synth_clouds(folder / "three", options);
    options.files.seed = 6;
    synth_clouds(folder / "other", options);
    CHECK(files_of(folder / "one") == files_of(folder / "three"));
    CHECK(files_of(folder / "one") != files_of(folder / "other"));
    for (const char* name : {"one", "three", "other"}) fs::remove_all(folder / name);
  }
}

TEST_CASE("headers of clouds agree with their points, in every point format and layout") {
  const test::TemporaryFolder folder;
  for (const CloudLayout layout : {CloudLayout::trees, CloudLayout::plots}) {
    for (const unsigned format : {1U, 3U, 6U, 7U}) {
      SynthCloudOptions options{.files = {.count = 4, .seed = format, .workers = 2, .classes = 4}};
      options.points = {3000, 9000};
      options.layout = layout;
      options.las_format = format;
      synth_clouds(folder / "clouds", options);
      const auto files = files_of(folder / "clouds");
      CHECK(files.size() == 4);
      CHECK(files.contains("class_03/000003.las"));
      for (const auto& [path, bytes] : files) {
        CAPTURE(path);
        const Las las = read_las(bytes);
        CHECK(las.format == format);
        CHECK(las.count >= 3000);
        CHECK(las.count <= 9000);
        check_consistent(las);
        CHECK(las.low[1] > 5.2e6);
      }
      fs::remove_all(folder / "clouds");
    }
  }
}

TEST_CASE("a cloud holds ground, vegetation and several returns, and neighbours in the file are neighbours in space") {
  const test::TemporaryFolder folder;
  SynthCloudOptions options{.files = {.count = 6, .seed = 1, .classes = 6}, .points = {40000, 40000}};
  for (const CloudLayout layout : {CloudLayout::trees, CloudLayout::plots}) {
    options.layout = layout;
    synth_clouds(folder / "clouds", options);
    for (const auto& [path, bytes] : files_of(folder / "clouds")) {
      CAPTURE(path);
      const Las las = read_las(bytes);
      std::map<unsigned, double> share;
      double later = 0;
      std::size_t near = 0, out_of_order = 0;
      const double edge = las.high[0] - las.low[0];
      for (std::size_t i = 0; i < las.points.size(); ++i) {
        share[las.points[i].classification] += 1.0 / static_cast<double>(las.count);
        later += las.points[i].number > 1 ? 1.0 / static_cast<double>(las.count) : 0;
        if (i == 0) continue;
        const auto& a = las.points[i - 1].place;
        const auto& b = las.points[i].place;
        near += std::hypot(a[0] - b[0], a[1] - b[1]) < 0.2 * edge;
        out_of_order += las.points[i].gps_time < las.points[i - 1].gps_time;
      }
      CHECK(share[2] > 0.02);
      CHECK(share[4] + share[5] > 0.2);
      CHECK(share[7] < 0.01);
      CHECK(share[2] + share[4] + share[5] + share[7] == doctest::Approx(1));
      CHECK(later > 0.1);
      CHECK(near > las.points.size() * 4 / 5);  // of points in random order: about 1 in 8
      CHECK(out_of_order == 0);
    }
    fs::remove_all(folder / "clouds");
  }
}

TEST_CASE("the crown's shape tells the species") {
  const test::TemporaryFolder folder;
  synth_clouds(folder / "clouds", {.files = {.count = 24, .seed = 2, .classes = 4}, .points = {8000, 8000}});
  // Mean height of the vegetation above the lowest point, as a share of the tree's: a cone's is low, an umbrella's
  // high.
  std::map<std::string, std::vector<double>> means;
  for (const auto& [path, bytes] : files_of(folder / "clouds")) {
    double ground = 0, top = -1e9, sum = 0, grounds = 0, leaves = 0;
    for (const Las::Point& point : read_las(bytes).points) {
      if (point.classification == 2) ground += point.place[2], ++grounds;
      if (point.classification == 4 || point.classification == 5) sum += point.place[2], ++leaves;
      if (point.classification == 5) top = std::max(top, point.place[2]);
    }
    means[path.substr(0, 8)].push_back((sum / leaves - ground / grounds) / (top - ground / grounds));
  }
  for (const double cone : means["class_00"])
    for (const double umbrella : means["class_03"]) CHECK(cone + 0.1 < umbrella);
}

TEST_CASE("impossible clouds are refused") {
  const test::TemporaryFolder folder;
  const auto refused = [&](const SynthCloudOptions& options, const char* why) {
    CHECK_THROWS_WITH_AS(synth_clouds(folder / "x", options), doctest::Contains(why), Error);
    CHECK_FALSE(fs::exists(folder / "x"));
  };
  refused({.points = {0, 5}}, "between 1 and 50000000");
  refused({.points = {6, 5}}, "the minimum must not exceed the maximum");
  refused({.points = {5, 60000000}}, "between 1 and 50000000");
  refused({.las_format = 4}, "not 4");
  refused({.las_format = 99}, "not 99");
  synth_clouds(folder / "x", {.files = {.count = 1}, .points = {1, 1}});
  CHECK(read_las(files_of(folder / "x").at("class_00/000000.las")).points.size() == 1);
}

TEST_CASE("a range of counts is read as people write it") {
  CHECK(parse_count_range("4096") == CountRange{4096, 4096});
  CHECK(parse_count_range("200k-1.5M") == CountRange{200000, 1500000});
  for (const char* wrong : {"", "-", "5-", "-5", "1.5", "5-4", "5x", "5-6-7", "nan", "1e99", "5 - 6"})
    CHECK_THROWS_AS(parse_count_range(wrong), Error);
}

}  // namespace penstock::test::synth_clouds_test
