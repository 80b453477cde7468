#include <algorithm>
#include <nlohmann/json.hpp>

#include <doctest/doctest.h>

#include <bench/measure/sampling.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>

#include "support/loading.hpp"
#include "transforms/clouds/some_clouds.hpp"

namespace penstock::test::sampling_test {
namespace {

constexpr std::size_t kPoints = 6000;

// Four forests whose origins differ, as survey coordinates do.
Dataset forests(const std::filesystem::path& folder) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    const SomeCloud cloud = forest(kPoints, i);
    std::vector<float> coordinates;
    for (std::size_t p = 0; p < kPoints; ++p)
      coordinates.insert(coordinates.end(), {cloud.x[p], cloud.y[p], cloud.z[p]});
    std::vector<std::byte> bytes;
    encode_cloud({.points = kPoints, .origin = {4e5 + 100.5 * static_cast<double>(i), 5.9e6, 120}},
                 {.coordinates = coordinates, .attributes = {}}, bytes);
    write_file(folder / (number_key(i) + ".scan"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    write_file(folder / (number_key(i) + ".cls"), "1");
  }
  return open(folder);
}

const SamplingRow& row_of(const SamplingReport& report, const std::string& way, const std::string& stored) {
  const auto found =
      std::ranges::find_if(report.rows, [&](const SamplingRow& row) { return row.way == way && row.stored == stored; });
  REQUIRE(found != report.rows.end());
  return *found;
}

}  // namespace

TEST_CASE("the comparison finds that windows read what they deliver, and that farthest points cover best") {
  const TemporaryFolder folder;
  const Dataset clouds = forests(folder / "clouds");
  SamplingOptions options{.points = 300, .seconds = 0.1, .compared = 2, .scratch = folder / "scratch"};
  std::uint64_t calls = 0;
  options.progress = [&](const std::string&, std::uint64_t done, std::uint64_t total) {
    ++calls;
    return done <= total;
  };
  const SamplingReport report = compare_sampling(clouds, options);
  CHECK(calls > 10);
  CHECK(report.field == "scan");
  CHECK(report.points_per_cloud == kPoints);
  CHECK(report.packs.size() == 3);
  const double whole = kPoints * 12;
  const SamplingRow& fps = row_of(report, "fps", "as stored");
  const SamplingRow& random = row_of(report, "random", "as stored");
  for (const SamplingRow& row : report.rows) {
    CAPTURE(row.way);
    CAPTURE(row.stored);
    CHECK(row.ms_per_cloud.median > 0);
    CHECK(row.ms_per_cloud.low <= row.ms_per_cloud.high);
    CHECK(row.side_view.size() == 300);
    CHECK(row.coverage.mean > 0);
    CHECK(row.coverage.mean < 3);  // in metres: origins were taken account of
    CHECK(row.coverage.most >= fps.coverage.most * 0.99);
  }
  CHECK(fps.bytes_per_cloud > 0.9 * whole);
  CHECK(row_of(report, "window", "progressive").bytes_per_cloud < 0.5 * whole);
  CHECK(row_of(report, "window", "stratified").bytes_per_cloud < 0.5 * whole);
  CHECK(row_of(report, "window", "progressive").coverage.mean == doctest::Approx(random.coverage.mean).epsilon(0.15));
  CHECK(row_of(report, "window", "stratified").coverage.mean < random.coverage.mean);
  CHECK(row_of(report, "all points", "presampled").coverage.mean ==
        doctest::Approx(fps.coverage.mean).epsilon(0.1));  // another first point

  const std::string text = to_text(report), html = to_html(report);
  CHECK(text.find("--point-order progressive") != std::string::npos);
  CHECK(html.find("http") == std::string::npos);
  CHECK(html.find("<script") == std::string::npos);
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["rows"].size() == report.rows.size());
  CHECK(json["rows"][0]["mean_distance"] == report.rows[0].coverage.mean);
}

TEST_CASE("what holds no clouds, or is stopped, is an error") {
  const TemporaryFolder folder;
  write_arrays(folder / "arrays", 3);
  CHECK_THROWS_WITH(compare_sampling(open(folder / "arrays"), {.scratch = folder / "scratch"}),
                    doctest::Contains("contains a point cloud"));
  const Dataset clouds = forests(folder / "clouds");
  SamplingOptions options{.points = 10, .scratch = folder / "scratch"};
  options.progress = [](const std::string&, std::uint64_t, std::uint64_t) { return false; };
  CHECK_THROWS_WITH(compare_sampling(clouds, options), doctest::Contains("interrupted"));
}

}  // namespace penstock::test::sampling_test
