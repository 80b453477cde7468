// Tests the OpenMetrics text by a small strict reader of its own.
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <record/watch/openmetrics.hpp>

namespace penstock::test::openmetrics_test {
namespace {

struct Read {
  std::map<std::string, std::string> types;    // by family
  std::map<std::string, std::string> samples;  // value by "name{labels}"
};

// Source: OpenMetrics 1.0, "ABNF": metadata before samples, families together, no sample twice, "# EOF" last.
Read read_strictly(const std::string& text) {
  static const std::regex metadata("# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)");
  static const std::string label = "[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\\\\n]|\\\\[\"\\\\n])*\"";
  static const std::regex sample("([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{" + label + "(?:," + label +
                                 ")*\\})? ([0-9]+(?:\\.[0-9]+)?)");
  Read read;
  std::istringstream lines(text);
  std::string line, family;
  std::set<std::string> families;
  bool ended = false, sampled = false;
  while (std::getline(lines, line)) {
    CAPTURE(line);
    REQUIRE_FALSE(ended);
    std::smatch parts;
    if (line == "# EOF") {
      ended = true;
    } else if (std::regex_match(line, parts, metadata)) {
      if (parts[1] == "TYPE") {
        family = parts[2];
        REQUIRE(families.insert(family).second);
        read.types[family] = parts[3];
        sampled = false;
      }
      REQUIRE(parts[2] == family);
      REQUIRE_FALSE(sampled);
      if (parts[1] == "UNIT") REQUIRE(family.ends_with("_" + parts[3].str()));
    } else {
      REQUIRE(std::regex_match(line, parts, sample));
      REQUIRE(parts[1] == family + (read.types[family] == "counter" ? "_total" : ""));
      REQUIRE(read.samples.emplace(parts[1].str() + parts[2].str(), parts[3]).second);
      sampled = true;
    }
  }
  REQUIRE(ended);
  REQUIRE(text.ends_with("# EOF\n"));
  return read;
}

Figures some_figures() {
  Figures figures;
  figures.samples = 1'234;
  figures.data_wait = std::chrono::milliseconds(1500);
  figures.stage_count = 2;
  figures.stages[0] = {.kind = StageKind::decode, .threads = 3, .busy = 1, .input_wait = 2, .room_wait = 3};
  figures.stages[1] = {.kind = StageKind::custom_transform};
  figures.slab_bytes = 99;
  figures.binds = static_cast<std::uint64_t>(Binds::cores);
  figures.binds_stage = static_cast<std::uint64_t>(StageKind::decode);
  return figures;
}

}  // namespace

TEST_CASE("the text of a loader has its figures") {
  const Read read = read_strictly(openmetrics(std::array{LabelledFigures{.labels = {}, .figures = some_figures()}}));
  CHECK(read.samples.at("penstock_samples_total") == "1234");
  CHECK(read.samples.at("penstock_data_wait_seconds_total") == "1.500000000");
  CHECK(read.samples.at("penstock_stage_busy_seconds_total{stage=\"decode\"}") == "0.000000001");
  CHECK(read.samples.at("penstock_stage_wait_seconds_total{stage=\"decode\",waits_for=\"room\"}") == "0.000000003");
  CHECK(read.samples.at("penstock_stage_threads{stage=\"decode\"}") == "3");
  CHECK(!read.types.contains("penstock_waiting_seconds"));
  CHECK(read.samples.at("penstock_memory_bytes{purpose=\"slabs\"}") == "99");
  CHECK(read.samples.at("penstock_binds{verdict=\"cores\",stage=\"decode\"}") == "1");
  for (const auto& [family, type] : read.types) CHECK((type == "counter" || type == "gauge"));
}

TEST_CASE("several loaders stand together in each family, and labels may be any text") {
  const std::array loaders{
      LabelledFigures{.labels = {{"pid", "1"}, {"program", "a\"b\\c\nd"}}, .figures = some_figures()},
      LabelledFigures{.labels = {{"pid", "2"}, {"program", ""}}, .figures = {}}};
  const Read read = read_strictly(openmetrics(loaders));
  CHECK(read.samples.at("penstock_samples_total{pid=\"1\",program=\"a\\\"b\\\\c\\nd\"}") == "1234");
  CHECK(read.samples.at("penstock_samples_total{pid=\"2\",program=\"\"}") == "0");
  CHECK(read_strictly(openmetrics({})).samples.empty());
}

TEST_CASE("the wait for the next batch is a gauge of the loaders for which it is known") {
  const std::array loaders{
      LabelledFigures{.labels = {{"pid", "1"}}, .figures = {}, .waiting = std::chrono::milliseconds(2'500)},
      LabelledFigures{.labels = {{"pid", "2"}}, .figures = {}, .waiting = std::chrono::nanoseconds(0)},
      LabelledFigures{.labels = {{"pid", "3"}}, .figures = {}}};
  const Read read = read_strictly(openmetrics(loaders));
  CHECK(read.types.at("penstock_waiting_seconds") == "gauge");
  CHECK(read.samples.at("penstock_waiting_seconds{pid=\"1\"}") == "2.500000000");
  CHECK(read.samples.at("penstock_waiting_seconds{pid=\"2\"}") == "0.000000000");
  CHECK(!read.samples.contains("penstock_waiting_seconds{pid=\"3\"}"));
}

TEST_CASE("names of labels that the format or penstock has no room for are refused") {
  for (const char* name : {"", "1a", "a-b", "a b", "__a", "stage", "verdict", "\xc3\xa4"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(openmetrics(std::array{LabelledFigures{.labels = {{name, "x"}}, .figures = {}}}), Error);
  }
}

}  // namespace penstock::test::openmetrics_test
