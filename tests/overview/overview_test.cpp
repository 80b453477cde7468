// The overview of hand-made and real traces: quantities per rank, several ranks, two runs, and the three ways to show
// it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <overview/overview.hpp>
#include <penstock/error.hpp>

#include "overview/made_trace.hpp"
#include "support/kind_of_failure.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"

namespace penstock::test::overview_test {
namespace {

using doctest::Approx;
using nlohmann::json;
using overview::Category;
using overview::Cause;
using overview::Change;
using overview::Overview;
using overview::overview_of;
using overview::RankOverview;

using Paths = std::vector<std::filesystem::path>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Writes traces into a folder and gives their overview.
class Traces {
 public:
  Traces& add(const MadeTrace& made, const std::string& name = "") {
    paths_.push_back(folder_ / (name.empty() ? std::to_string(paths_.size()) + ".json" : name));
    write_file(paths_.back(), made.text());
    return *this;
  }
  Overview overview() const { return overview_of(paths_); }
  const Paths& paths() const { return paths_; }

 private:
  TemporaryFolder folder_;
  Paths paths_;
};

Overview overview_of_one(const MadeTrace& made) {
  return Traces().add(made).overview();
}

/// A rank whose steps of 100 ms contain `communication` ms of collectives.
MadeTrace rank(int number, std::int64_t communication, bool recorded = true) {
  MadeTrace made;
  if (recorded) made.head("\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": " + std::to_string(number) + "}");
  for (int step = 0; step < 2; ++step) {
    const std::int64_t begin = step * 100'000;
    made.step(step, begin, begin + 100'000).kernel("gemm", begin, begin + 100'000 - communication * 1000);
    made.kernel("ncclDevKernel_AllReduce", begin + 100'000 - communication * 1000, begin + 100'000);
  }
  return made;
}

/// A run with steps of these lengths in ms; `loading` ms of each are in a DataLoader, the rest in an operator.
MadeTrace run(const std::vector<std::int64_t>& steps, std::int64_t loading) {
  MadeTrace made;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::int64_t end = begin + steps[i] * 1000;
    made.step(static_cast<int>(i), begin, end).loader(begin, begin + loading * 1000);
    made.op("aten::mm", begin + loading * 1000, end);
    begin = end;
  }
  return made;
}

overview::ChangeTable table_of(const Overview& found, const std::string& name) {
  REQUIRE(found.comparison);
  const auto& tables = found.comparison->tables;
  const auto table = std::ranges::find(tables, name, &overview::ChangeTable::name);
  REQUIRE(table != tables.end());
  return *table;
}

Change change_of(const Overview& found, const std::string& table, const std::string& name) {
  const auto changes = table_of(found, table).changes;
  const auto change = std::ranges::find(changes, name, &Change::name);
  REQUIRE(change != changes.end());
  return *change;
}

/// The parts of a page that make a browser load something from elsewhere.
std::vector<std::string> network_uses(const std::string& page) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& mark, std::size_t length, auto&& loads) {
    for (std::size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
      const std::string part = page.substr(at, std::min(length, page.find('>', at) - at));
      if (loads(part)) out.push_back(part.substr(0, 100));
    }
  };
  const auto always = [](const std::string&) { return true; };
  const auto with_address = [](const std::string& tag) {
    for (const std::string address : {"=\"//", "='//", "=//", "=\"http", "='http", "=http"}) {
      for (const std::string attribute : {"src", "srcset", "href", "data", "poster"}) {
        if (contains(tag, attribute + address)) return true;
      }
    }
    return false;
  };
  for (const std::string mark : {"<link", "<iframe", "@import", "url(http", "url(//", "url(\"http", "url('http"})
    add(mark, 200, always);
  for (const std::string tag :
       {"<script", "<img", "<image", "<use", "<source", "<video", "<audio", "<object", "<embed"})
    add(tag, page.size(), with_address);
  return out;
}

/// Checks what holds for every overview, however it is shown.
void check_shown(const Overview& overview) {
  static const std::regex kNoNumber(R"(\b-?(nan|inf|infinity)\b)", std::regex::icase);
  const std::string text = to_text(overview), page = to_html(overview), figures = to_json(overview);
  CHECK_MESSAGE(!std::regex_search(text, kNoNumber), text);
  CHECK(text.ends_with('\n'));
  CHECK((text.starts_with("Why: ") || contains(text, "\nWhy: ")));
  for (const std::string& remedy : overview.diagnosis.remedies) CHECK(contains(text, "\nDo:  " + remedy + "\n"));

  CHECK(page.size() < 3'000'000);
  CHECK(contains(page, "<html"));
  CHECK(contains(page, "</html>"));
  CHECK(network_uses(page).empty());
  static const std::regex kNumber(R"([>\s"](nan|-nan|inf|-inf)[<\s"%,])", std::regex::icase);
  CHECK_FALSE(std::regex_search(page, kNumber));

  const json parsed = json::parse(figures);
  REQUIRE(parsed["ranks"].size() == overview.ranks.size());
  CHECK(parsed["slowest"] == overview.slowest);
  CHECK(parsed["diagnosis"]["why"] == overview.diagnosis.why);
  for (const json& found : parsed["ranks"]) {
    double sum = 0;
    for (const auto& [name, time] : found["step"]["categories"].items()) sum += time.get<double>();
    CHECK(sum == Approx(found["step"]["mean"].get<double>()));
    CHECK(found["step"]["categories"].size() == overview::kCategories);
    for (const json& step : found["steps"]) {
      double times = 0;
      for (const auto& [name, time] : step["categories"].items()) times += time.get<double>();
      CHECK(times == Approx(step["time"].get<double>()));
    }
  }
}

}  // namespace

TEST_CASE("a summary has the mean of the steps, and says which of them it lacks") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 300).step(3, 300, 400);
  made.launched(10, 20, 60, {.correlation = 1}).launched(110, 120, 200, {.correlation = 2});
  made.kernel("before", -20, -10).kernel("after", 310, 320);
  const RankOverview found = made.summary();
  CHECK(found.step() == Approx(150e3));
  CHECK(found.mean[Category::kernel] == Approx(60e3));
  CHECK(found.share(Category::kernel) == Approx(0.4));
  CHECK(found.steps.left_out == 1);
  REQUIRE(found.notes.size() == 1);
  CHECK(contains(found.notes[0], "left out"));
  CHECK(found.events == 9);
  CHECK(found.kernels_per_step == Approx(1));
  CHECK(found.kernel_length == Approx(60e3));
  CHECK(found.has_device());
  CHECK(found.busy() == Approx(0.4));
}

TEST_CASE("a trace without ProfilerStep has a note that names the remedy") {
  const RankOverview found = MadeTrace().op("aten::add", 0, 10).summary();
  REQUIRE(found.notes.size() == 1);
  CHECK(contains(found.notes[0], "profiler.step()"));
}

TEST_CASE("the notes of reading are those of the overview") {
  const TemporaryFolder folder;
  const std::string text = MadeTrace().step(1, 0, 100).op("aten::add", 0, 10).op("aten::add", 20, 30).text();
  write_file(folder / "cut.json", text.substr(0, text.size() / 2));
  const Overview found = overview_of(Paths{folder / "cut.json"});
  REQUIRE_FALSE(found.ranks[0].notes.empty());
  CHECK(contains(to_text(found), "Note: " + found.ranks[0].notes[0] + "\n"));
  CHECK(json::parse(to_json(found))["ranks"][0]["notes"][0] == found.ranks[0].notes[0]);
  check_shown(found);
}

TEST_CASE("waits for a DataLoader count calls in the trace, and time in the steps, also beside kernels") {
  MadeTrace made;
  made.loader(-30, -10).step(1, 0, 100).loader(10, 40).step(2, 100, 200).loader(110, 120).kernel("gemm", 0, 35);
  const RankOverview found = made.summary();
  CHECK(found.loader.calls == 3);
  CHECK(found.loader.time == Approx(20e3));
  CHECK(found.mean[Category::dataloader] == Approx(7.5e3));
  CHECK_FALSE(found.loader.workers);
  CHECK(MadeTrace().step(1, 0, 100).loader(10, 40, true).summary().loader.workers);
}

TEST_CASE("copies count beside kernels, and those from pageable memory once more") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 200).kernel("gemm", 0, 200);
  made.copy("Memcpy HtoD (Pageable -> Device)", 10, 30).copy("Memcpy HtoD (Pinned -> Device)", 50, 60);
  made.copy("Memcpy HtoH (Pageable -> Pageable)", 140, 150)
      .copy("Memcpy DtoH (Device -> Pageable)", 120, 130)
      .copy("Memcpy HtoD (Pageable -> Device)", 20, 40, {.stream = 9});
  const RankOverview found = made.summary();
  CHECK(found.copies.time == Approx(30e3));
  CHECK(found.copies.from_pageable == Approx(15e3));
  CHECK(found.mean[Category::memcpy] == 0);
}

TEST_CASE("communication counts also where kernels hide it") {
  MadeTrace made;
  made.step(1, 0, 100).kernel("gemm", 0, 50).kernel("ncclDevKernel_AllReduce", 30, 80, {.stream = 9});
  const RankOverview found = made.summary();
  CHECK(found.communication == Approx(50e3));
  CHECK(found.mean[Category::communication] == Approx(30e3));
}

TEST_CASE("reading a single value waits for a device only if the thread calls the device's runtime meanwhile") {
  MadeTrace made;
  made.step(1, 0, 100).step(2, 100, 200);
  made.op("aten::_local_scalar_dense", -30, -20).runtime("cudaStreamSynchronize", -29, -21);
  made.op("aten::_local_scalar_dense", 10, 30).runtime("cudaStreamSynchronize", 12, 28);
  made.op("aten::_local_scalar_dense", 40, 50).runtime("cudaStreamSynchronize", 42, 48, {.thread = 2});
  made.op("aten::_local_scalar_dense", 120, 130).runtime("cudaMemcpyAsync", 121, 125);
  made.op("aten::_local_scalar_dense", 300, 330).runtime("cudaStreamSynchronize", 302, 328);
  const RankOverview found = made.summary();
  CHECK(found.synchronisations.calls == Approx(1));
  CHECK(found.synchronisations.time == Approx(15e3));
}

TEST_CASE("the memory peak is the largest total, which the host's allocator does not record") {
  const auto memory = [](std::int64_t time, std::int64_t bytes, const std::string& device, const std::string& totals) {
    return R"({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": )" + std::to_string(time) +
           ", \"args\": {\"Bytes\": " + std::to_string(bytes) + ", " + device + totals + "}}";
  };
  const std::string host = R"("Device Type": 0, "Device Id": 0)", gpu = R"("Device Type": 1, "Device Id": 0)";
  MadeTrace made;
  made.step(1, 0, 100);
  made.event(memory(1, 500, host, "")).event(memory(2, 300, host, "")).event(memory(3, -500, host, ""));
  made.event(memory(4, 64, gpu, R"(, "Total Allocated": 1064, "Total Reserved": 4096)"));
  made.event(memory(5, -64, gpu, R"(, "Total Allocated": 1000, "Total Reserved": 8192)"));
  const RankOverview found = made.summary();
  REQUIRE(found.memory.size() == 2);
  CHECK(found.memory[0].device == -1);
  CHECK(found.memory[0].allocated == 800);
  CHECK(found.memory[0].reserved == 0);
  CHECK(found.memory[1].device == 0);
  CHECK(found.memory[1].allocated == 1064);
  CHECK(found.memory[1].reserved == 8192);
}

TEST_CASE("devices without properties in the trace have a number only") {
  MadeTrace made;
  made.head(R"("deviceProperties": [{"id": 0, "name": "Idle"}, {"id": 1, "name": "Tesla V100"}])");
  made.step(1, 0, 100).kernel("gemm", 0, 10, {.device = 1}).kernel("gemm", 0, 10, {.device = 4});
  const RankOverview found = made.summary();
  REQUIRE(found.devices.size() == 2);
  CHECK(found.devices[0].id == 1);
  CHECK(found.devices[0].name == "Tesla V100");
  CHECK(found.devices[1].id == 4);
  CHECK(found.devices[1].name.empty());
}

TEST_CASE("the tables have all names and their sums, and a page of many names stays small") {
  MadeTrace made;
  made.step(1, 0, 300'000);
  for (int i = 0; i < 20'000; ++i) {
    made.op("op" + std::to_string(i), 10 * i, 10 * i + 5, {.link = i + 1});
    made.kernel("kernel" + std::to_string(i), 10 * i, 10 * i + 4, {.external_id = i + 1});
  }
  const Overview found = overview_of_one(made);
  const RankOverview& rank = found.ranks[0];
  CHECK(rank.operators.size() == 20'000);
  CHECK(rank.operator_time == Approx(20'000 * 9e3));
  CHECK(rank.kernels.size() == 20'000);
  CHECK(rank.kernel_time == Approx(20'000 * 4e3));
  check_shown(found);
}

TEST_CASE("the slowest rank is the one that waits least for the others") {
  Traces traces;
  traces.add(rank(2, 30)).add(rank(0, 50)).add(rank(1, 10));
  const Overview found = traces.overview();
  REQUIRE(found.ranks.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(found.ranks[i].rank == static_cast<std::int64_t>(i));
  CHECK_FALSE(found.comparison);
  CHECK(found.slowest == 1);
  CHECK(found.spread == Approx(0.8));
  CHECK(found.diagnosis.cause == Cause::communication);
  CHECK(found.diagnosis.share == Approx(0.1));
  const std::string text = to_text(found);
  for (const std::string line : {"rank 0: step 100 ms", "rank 1: step 100 ms", "rank 2: step 100 ms"}) {
    CHECK(contains(text, line));
  }
  CHECK(contains(text, "The slowest is rank 1"));
  CHECK(contains(text, "80 %"));
  check_shown(found);
}

TEST_CASE("two ranks of one training are not two runs") {
  const Overview found = Traces().add(rank(1, 20)).add(rank(0, 40)).overview();
  CHECK_FALSE(found.comparison);
  CHECK(found.ranks[0].rank == 0);
  CHECK(found.slowest == 1);
}

TEST_CASE("without their numbers, ranks are in the order of the arguments") {
  Traces traces;
  traces.add(rank(0, 30, false), "b.json").add(rank(0, 50, false), "a.json").add(rank(0, 10, false), "c.json");
  const Overview found = traces.overview();
  for (std::size_t i = 0; i < 3; ++i) CHECK(found.ranks[i].path == traces.paths()[i].string());
  CHECK(found.slowest == 2);
  CHECK(contains(to_text(found), "The slowest is " + traces.paths()[2].string()));
  check_shown(found);
}

TEST_CASE("two traces that are not ranks are compared, in the order of the arguments") {
  Traces traces;
  traces.add(run({100, 104, 96, 102, 98}, 40), "z.json").add(run({70, 73, 67, 71, 69}, 10), "a.json");
  const Overview found = traces.overview();
  REQUIRE(found.comparison);
  CHECK(found.ranks[0].path == traces.paths()[0].string());
  CHECK(found.slowest == 1);
  CHECK(found.comparison->before == traces.paths()[0].string());
  CHECK(found.comparison->after == traces.paths()[1].string());
  const Change step = change_of(found, "Step", "step"), cpu = change_of(found, "Categories", "CPU Exec");
  CHECK(step.before.value() == Approx(0.1));
  CHECK(step.after.value() == Approx(0.07));
  CHECK(step.noise.value() == Approx(2e-9 * std::sqrt(10e12 / 5 + 5e12 / 5)));
  CHECK(step.exceeds_noise() == true);
  const Change loader = change_of(found, "Categories", "DataLoader");
  CHECK(loader.before.value() - loader.after.value() == Approx(0.03));
  CHECK(loader.noise == 0);
  CHECK(cpu.relative().value() == Approx(0));
  CHECK(cpu.noise.value() == Approx(step.noise.value()));
  const std::string text = to_text(found);
  CHECK(contains(text, "before: step 100 ms"));
  CHECK(contains(text, "after:  step 70 ms"));
  CHECK(contains(text, " 100.0       70.0 ms          -30.0 %  more than the noise, 3.5 ms\n"));
  check_shown(found);
}

TEST_CASE("a change within the noise of the steps is not clear") {
  const Overview found = Traces().add(run({100, 120, 80}, 10)).add(run({103, 123, 83}, 10)).overview();
  CHECK(change_of(found, "Step", "step").exceeds_noise() == false);
  CHECK(contains(to_text(found), "not more than the noise"));
  check_shown(found);
}

TEST_CASE("a comparison of single steps says that their noise is unknown") {
  const Overview found = Traces().add(run({100}, 10)).add(run({80}, 10)).overview();
  CHECK_FALSE(change_of(found, "Step", "step").noise);
  CHECK(contains(to_text(found), "no spread recorded"));
  CHECK(contains(to_html(found), "no spread recorded"));
  check_shown(found);
}

TEST_CASE("a comparison lists the operators that changed most, per step") {
  MadeTrace before, after;
  before.step(1, 0, 100'000).step(2, 100'000, 200'000).op("same", 0, 50'000).op("gone", 50'000, 90'000);
  after.step(1, 0, 100'000).op("same", 0, 25'000).op("new", 30'000, 95'000);
  const Overview found = Traces().add(before).add(after).overview();
  const auto operators = table_of(found, "Operators").changes;
  REQUIRE(operators.size() == 3);
  CHECK(operators[0].name == "new");
  CHECK(operators[0].before == 0);
  CHECK(operators[0].after.value() == Approx(0.065));
  CHECK(operators[1].name == "gone");
  CHECK(operators[1].before.value() == Approx(0.02));
  CHECK(operators[2].before.value() == Approx(0.025));
  CHECK(operators[2].after.value() == Approx(0.025));
}

TEST_CASE("an operator beyond the end of one table is not reported as gone") {
  const auto with_operators = [](std::int64_t last) {
    MadeTrace made;
    made.step(1, 0, 1'000'000);
    for (int i = 0; i < 60; ++i) made.op("op" + std::to_string(i), 10'000 * i, 10'000 * i + 9'000);
    made.op("changed", 900'000, 900'000 + last);
    return made;
  };
  const Overview found = Traces().add(with_operators(20'000)).add(with_operators(8'900)).overview();
  const Change first = table_of(found, "Operators").changes.at(0);
  CHECK(first.name == "changed");
  CHECK(first.after.value() == Approx(0.0089));
}

TEST_CASE("progress counts the bytes of all files and stops the reading") {
  Traces traces;
  traces.add(rank(0, 10)).add(rank(1, 10)).add(rank(2, 10));
  std::uint64_t bytes = 0;
  for (const std::filesystem::path& path : traces.paths()) bytes += std::filesystem::file_size(path);
  std::vector<std::uint64_t> seen;
  overview_of(traces.paths(), [&](std::uint64_t read, std::uint64_t of) {
    CHECK(of == bytes);
    seen.push_back(read);
    return true;
  });
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  REQUIRE_FALSE(seen.empty());
  CHECK(seen.back() == bytes);
  CHECK(kind_of_failure([&] { overview_of(traces.paths(), [](std::uint64_t, std::uint64_t) { return false; }); }) ==
        ErrorKind::resource);
}

TEST_CASE("traces that cannot be read, or none at all, are errors") {
  const TemporaryFolder folder;
  write_file(folder / "other.json", "{}");
  CHECK(kind_of_failure([] { overview_of({}); }) == ErrorKind::invalid_argument);
  CHECK(kind_of_failure([&] { overview_of(Paths{folder / "absent.json"}); }) == ErrorKind::io);
  CHECK(kind_of_failure([&] { overview_of(Paths{folder / "other.json"}); }) == ErrorKind::unsupported);
  CHECK(kind_of_failure([] { overview_of_one(MadeTrace()); }) == ErrorKind::unsupported);
}

TEST_CASE("values from a broken program are shown without nan and inf") {
  MadeTrace made;
  made.head(R"("deviceProperties": [{"id": 0, "name": "", "numSms": -5, "totalGlobalMem": 1e300}])");
  made.step(1, 0, 100).op("aten::add", 0, 10);
  for (const std::string value : {"1e300", "-1e300", "1e38", "1e39", "-7", "0", "18446744073709551615"}) {
    made.event(R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 10, "dur": 60, "args": {"blocks per SM": )" + value +
               R"(, "est. achieved occupancy %": )" + value + "}}");
  }
  made.event(R"({"ph": "X", "cat": "kernel", "name": "far", "pid": 0, "tid": 7, "ts": 4611686018427386, "dur": 0.9})");
  made.event(R"({"ph": "X", "cat": "kernel", "name": "far", "pid": 0, "tid": 7, "ts": -4611686018427386, "dur": 0.9})");
  const Overview found = overview_of_one(made);
  const std::string text = to_text(found), figures = to_json(found);
  CHECK_MESSAGE(!contains(text, "nan"), text);
  CHECK_MESSAGE(!contains(text, "inf"), text);
  CHECK(json::parse(figures).contains("ranks"));
  check_shown(found);
}

TEST_CASE("steps without length are shown without nan and inf") {
  check_shown(overview_of_one(MadeTrace().step(1, 50, 50)));
  check_shown(overview_of_one(MadeTrace().step(1, 50, 50).step(2, 50, 50).kernel("k", 40, 60)));
  check_shown(Traces().add(MadeTrace().step(1, 5, 5)).add(MadeTrace().step(1, 5, 5)).overview());
  check_shown(Traces().add(MadeTrace().step(1, 5, 5)).add(run({100}, 10)).overview());
}

TEST_CASE("names that are long, or look like HTML, do not break the page or a line") {
  const std::string hostile = "</script><img src=//example.com/a.png onerror=alert(1)> & 'quoted' \\u0007";
  MadeTrace made;
  made.head(R"("deviceProperties": [{"id": 0, "name": ")" + std::string(3000, 'd') + "\"}]");
  made.step(1, 0, 1000).op(hostile, 0, 900, {.link = 1}).kernel(hostile, 900, 950, {.external_id = 1});
  made.op(std::string(5000, 'x'), 900, 990).kernel(std::string(5000, 'k'), 950, 990);
  made.op("\\ud83d\\ude00 \xC3\xA9", 991, 995);
  Traces traces;
  traces.add(made, std::string(200, 'n') + "/" + std::string(200, 'o') + "/<b>trace</b> \xC3\xA9.json");
  const Overview one = traces.overview();
  const std::string page = to_html(one);
  CHECK_FALSE(contains(page, "<img src=//example"));
  CHECK_FALSE(contains(page, "<b>trace</b>"));
  check_shown(one);
  traces.add(rank(0, 10, false), std::string(200, 'n') + "/" + std::string(250, 'p')).add(rank(0, 20, false));
  const Overview three = traces.overview();
  check_shown(three);
  CHECK(contains(to_text(three), "that of the fastest.\n"));
}

TEST_CASE("figures and page survive a file name that is not UTF-8") {
  Traces traces;
  traces.add(MadeTrace().step(1, 0, 100), "name-\xFF\xC3.json");
  check_shown(traces.overview());
}

TEST_CASE("the figures have seconds, shares, and null for quantities that the trace does not record") {
  MadeTrace made;
  made.step(7, 0, 1'000'000).kernel("gemm", 0, 250'000).loader(500'000, 600'000);
  const json found = json::parse(to_json(overview_of_one(made)))["ranks"][0];
  CHECK(found["step"]["mean"] == Approx(1));
  CHECK(found["step"]["categories"]["Kernel"] == Approx(0.25));
  CHECK(found["step"]["categories"]["DataLoader"] == Approx(0.1));
  CHECK(found["steps"][0]["name"] == "7");
  CHECK(found["devices"][0]["busy"] == Approx(0.25));
  CHECK(found["devices"][0]["sm_efficiency"].is_null());
  CHECK(found["rank"].is_null());
  CHECK(found["dataloader"]["calls"] == 1);
  CHECK(found["dataloader"]["time_per_step"] == Approx(0.1));
}

TEST_CASE("the screen distinguishes a quantity that the trace lacks from a zero") {
  const std::string text = to_text(overview_of_one(MadeTrace().step(1, 0, 100).kernel("gemm", 0, 10)));
  CHECK(contains(text, "SM efficiency not in this trace"));
  CHECK(contains(text, "tensor cores 0 %"));
}

TEST_CASE("the traces of real trainings have an overview, alone and together") {
  Paths paths;
  for (const std::filesystem::path& path : ::test::data_files("traces")) {
    if (contains(path.string(), ".json")) paths.push_back(path);
  }
  if (paths.empty()) return;
  for (const std::filesystem::path& path : paths) {
    CAPTURE(path.string());
    const Overview found = overview_of(Paths{path});
    check_shown(found);
    for (const overview::DeviceUse& use : found.ranks[0].uses) {
      for (const std::optional<double>& share :
           {std::optional(use.busy), use.sm_efficiency, use.occupancy, use.tensor_cores}) {
        CHECK(share.value_or(0) >= 0);
        CHECK(share.value_or(0) <= 1.0000001);
      }
    }
  }
  check_shown(overview_of(paths));
}

}  // namespace penstock::test::overview_test
