// Reads reports of penstock run, bench and tune: whole, old, cut, and with invalid members.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <overview/overview.hpp>
#include <overview/reports/read_report.hpp>
#include <penstock/error.hpp>

#include "overview/made_trace.hpp"
#include "support/kind_of_failure.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::read_report_test {
namespace {

using doctest::Approx;
using nlohmann::json;
using overview::Change;
using overview::FileKind;
using overview::Overview;
using overview::overview_of;

/// As --json writes it.
json run_report() {
  return json::parse(R"({"penstock_run": 1, "program": "train.py", "loaders": [
    {"kind": "DataLoader", "dataset": "ImageFolder", "num_workers": 0, "batch_size": 32, "steps": 50, "step_s": 0.1,
     "plus_minus_s": 0.002, "load_s": 0.07, "compute_s": 0.02, "optimizer_s": 0.01, "other_s": 0.0, "collate_s": 0.004,
     "fetch_s": null, "device_idle_s": null, "first_batch_s": 0.5, "penstock": null},
    {"kind": "DataLoader", "dataset": "Validation", "step_s": 0.05, "plus_minus_s": null}],
    "cores": 2, "rank": null, "cuda": false, "diagnosis": {"cause": "decoding", "share": 0.6, "why": "..."},
    "ranks": [{"rank": 0, "own_s": 0.08}, {"rank": 1, "own_s": 0.09}], "notes": [], "python": "3.11.7"})");
}

/// As --out writes it.
json few_figures() {
  return json::parse(R"({"penstock_run": 1, "program": "train.py", "cause": "compute", "cores": 2, "steps": 50,
    "batch_size": 32, "num_workers": 4, "step_s": 0.04, "plus_minus_s": 0.001, "load_s": 0.01, "compute_s": 0.02,
    "optimizer_s": 0.01, "other_s": 0.0})");
}

json bench_row(unsigned workers, double rate) {
  return {{"dataset", "train"},
          {"task", "image-train"},
          {"workers", workers},
          {"prefetch", 2},
          {"batch_size", 64},
          {"engine", "inline"},
          {"cache", "warm"},
          {"samples_per_s", rate},
          {"samples_per_s_quartiles", {rate - 10, rate + 17}},
          {"rounds", 4},
          {"samples", 1000},
          {"efficiency", nullptr},
          {"first_batch_ms", 20},
          {"epoch_data_wait_s", 0.5},
          {"stages", {{"plan", {{"busy_s", 0.01}}}, {"decode", {{"busy_s", 0.2}}}}},
          {"stall_split", {{"step_s", 0.1}, {"compute_s", 0.08}, {"prep_stall_s", 0.02}, {"fetch_stall_s", nullptr}}}};
}

json bench_report(const std::vector<json>& rows) {
  return {{"penstock", "0.1.0"},
          {"machine", {{"cpu", "cpu"}, {"usable_cores", 2}}},
          {"datasets", {{{"path", "train"}, {"samples", 300}}}},
          {"rows", rows}};
}

/// Files in a folder of their own.
class Files {
 public:
  Files& write(const std::string& text) {
    paths_.push_back(folder_ / (std::string(1, static_cast<char>('a' + paths_.size())) + ".json"));
    write_file(paths_.back(), text);
    return *this;
  }
  Files& add(const json& report) { return write(report.dump()); }
  Overview overview() const { return overview_of(paths_); }
  FileKind kind() const { return overview::kind_of_file(paths_.back()); }
  std::string failure() const {
    try {
      overview();
    } catch (const Error& error) {
      return error.what();
    }
    FAIL("no error");
    return "";
  }
  ErrorKind kind_of_error() const {
    return kind_of_failure([&] { overview(); });
  }

 private:
  TemporaryFolder folder_;
  std::vector<std::filesystem::path> paths_;
};

Overview compared(const json& before, const json& after) {
  return Files().add(before).add(after).overview();
}

/// The error of a report beside a valid one.
std::string failure(const json& report) {
  return Files().add(report).add(report.contains("rows") ? bench_report({bench_row(1, 100)}) : run_report()).failure();
}

std::vector<Change> table(const Overview& found, const std::string& name) {
  REQUIRE(found.comparison);
  for (const auto& each : found.comparison->tables)
    if (each.name == name) return each.changes;
  return {};
}

Change change(const Overview& found, const std::string& name, const std::string& row) {
  for (const Change& each : table(found, name))
    if (each.name == row) return each;
  FAIL(name, ": no ", row);
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

json without(json report, const std::string& name) {
  report.erase(name);
  return report;
}

json with(json report, const std::string& pointer, const json& value) {
  report[json::json_pointer(pointer)] = value;
  return report;
}

}  // namespace

TEST_CASE("two reports of penstock run are compared by step, category, part, rank and loader") {
  json after = run_report();
  after["loaders"][0].update({{"step_s", 0.05}, {"plus_minus_s", 0.0015}, {"load_s", 0.02}, {"fetch_s", 0.03}});
  after["ranks"][1]["own_s"] = 0.045;
  const Overview found = compared(run_report(), after);
  CHECK(found.ranks.empty());
  const Change step = change(found, "Step", "step");
  CHECK(step.relative().value() == Approx(-0.5));
  CHECK(step.noise.value() == Approx(0.0025));
  CHECK(step.exceeds_noise() == true);
  const Change rate = change(found, "Step", "samples per second");
  CHECK(rate.before.value() == Approx(320));
  CHECK(rate.after.value() == Approx(640));
  CHECK(rate.noise.value() == Approx(std::hypot(320 * 0.02, 640 * 0.03)));
  CHECK(change(found, "Categories", "load").after == 0.02);
  CHECK_FALSE(change(found, "Categories", "load").noise);
  CHECK(table(found, "Categories").size() == 3);
  CHECK(change(found, "Parts", "collate").before == 0.004);
  CHECK_FALSE(change(found, "Parts", "fetch").before);
  CHECK(change(found, "Own work of the ranks", "rank 1").relative().value() == Approx(-0.5));
  CHECK(change(found, "Steps of other loaders", "2: DataLoader(Validation)").before == 0.05);
  CHECK(found.comparison->notes.empty());
}

TEST_CASE("the few figures of --out are compared with all figures of --json") {
  const Overview found = compared(run_report(), few_figures());
  CHECK(change(found, "Step", "step").relative().value() == Approx(-0.6));
  CHECK(change(found, "Categories", "load").after == 0.01);
  CHECK(found.comparison->tables.size() == 2);
  REQUIRE(found.comparison->notes.size() == 1);
  CHECK(found.comparison->notes[0] ==
        "Other differences: num_workers 0 before, 4 after; cause decoding before, compute after.");
}

TEST_CASE("other data and other batch sizes are other work") {
  const json other = with(with(run_report(), "/loaders/0/batch_size", 64), "/loaders/0/dataset", "Fake");
  const Overview found = compared(run_report(), other);
  REQUIRE_FALSE(found.comparison->notes.empty());
  CHECK(found.comparison->notes[0] ==
        "The two runs did different work: dataset ImageFolder before, Fake after; batch_size 32 before, 64 after.");
  json bench = bench_report({bench_row(1, 100)});
  bench["datasets"][0]["samples"] = 200;
  CHECK(
      contains(to_text(compared(bench_report({bench_row(1, 100)}), bench)), "different work: samples 300 before, 200"));
}

TEST_CASE("reports of bench are compared by setting, and their fastest rows by category and stage") {
  json faster = bench_row(2, 320);
  faster["stages"]["decode"]["busy_s"] = 0.1;
  const Overview found = compared(bench_report({bench_row(1, 100), bench_row(2, 160)}),
                                  bench_report({bench_row(4, 150), faster, bench_row(1, 110)}));
  CHECK(table(found, "Samples per second").size() == 3);
  CHECK(change(found, "Samples per second", "workers 2, prefetch 2, batch size 64").relative().value() == Approx(1));
  CHECK(change(found, "Samples per second", "workers 1, prefetch 2, batch size 64").exceeds_noise() == false);
  CHECK_FALSE(change(found, "Samples per second", "workers 4, prefetch 2, batch size 64").before);
  const Change rate = change(found, "Fastest row", "samples per second");
  CHECK(rate.after == 320);
  // Student's t for 3 degrees of freedom is 3.18; the approximation gives 3.16.
  CHECK(rate.noise.value() == Approx(std::sqrt(2) * 3.16 * 1.25 * 27 / 1.35 / 2));
  CHECK(rate.exceeds_noise() == true);
  CHECK(change(found, "Fastest row", "first batch").before.value() == Approx(0.02));
  CHECK(change(found, "Categories of the fastest row: stall split", "prep stall").after == 0.02);
  const auto stages = table(found, "Stages of the fastest row: busy for a sample");
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].name == "decode");
  CHECK(stages[0].before.value() == Approx(2e-4));
  CHECK(stages[0].after.value() == Approx(1e-4));
}

TEST_CASE("a row of one or two rounds has no spread, and rows name the task and data that differ") {
  const json row = with(bench_row(1, 100), "/rounds", 2);
  CHECK_FALSE(change(compared(bench_report({row}), bench_report({row})), "Fastest row", "samples per second").noise);
  const json other = with(with(bench_row(1, 90), "/dataset", "packed"), "/task", "image-eval");
  const json report = bench_report({bench_row(1, 100), other});
  CHECK(
      change(compared(report, report), "Samples per second", "packed, image-eval, workers 1, prefetch 2, batch size 64")
          .before == 90);
}

TEST_CASE("a report of tune is compared with one of bench") {
  json tune = bench_report({bench_row(1, 100)});
  tune["best"] = bench_row(1, 100);
  CHECK(change(compared(tune, bench_report({bench_row(1, 200)})), "Fastest row", "samples per second")
            .relative()
            .value() == Approx(1));
}

TEST_CASE("an older or smaller report is compared by the figures that it has") {
  const json small = json::parse(R"({"penstock_run": 1, "step_s": 0.2})");
  const Overview found = compared(small, run_report());
  CHECK(found.comparison->tables.size() == 1);
  CHECK_FALSE(change(found, "Step", "step").noise);
  CHECK(contains(to_text(found), "no spread recorded"));
  const json rows = json::parse(R"({"penstock": "0.1.0", "machine": {}, "rows": [{"samples_per_s": 50}]})");
  CHECK(change(compared(rows, bench_report({bench_row(1, 100)})), "Fastest row", "samples per second")
            .relative()
            .value() == Approx(1));
}

TEST_CASE("the kind of a file does not depend on the order of its members") {
  CHECK(Files().write(R"({"loaders": [{"traceEvents": []}], "cores": 2, "penstock_run": 1})").kind() == FileKind::run);
  CHECK(Files().write(R"({"machine": {"rows": 1}, "penstock": "0.1.0"})").kind() == FileKind::bench);
  CHECK(Files().write(R"({"penstock": "0.1.0", "checks": []})").kind() == FileKind::other);
  CHECK(Files().write(R"({"deviceProperties": [], "traceEvents": []})").kind() == FileKind::trace);
  CHECK(Files().write("[]").kind() == FileKind::trace);
  CHECK(Files().write("").kind() == FileKind::other);
  CHECK(Files().write(R"({"a": {"penstock_run": 1}})").kind() == FileKind::other);
}

TEST_CASE("files of two kinds are one error that names both") {
  const std::string trace = MadeTrace().step(1, 0, 100).op("aten::add", 0, 10).text();
  const json bench = bench_report({bench_row(1, 100)});
  const std::string error = Files().add(run_report()).add(bench).failure();
  CHECK(contains(error, "a.json is a report of penstock run, and "));
  CHECK(contains(error, "b.json is a report of penstock bench or tune; compare two files of one kind"));
  CHECK(contains(Files().write(trace).add(bench).failure(), "a.json is a trace of the PyTorch profiler, and "));
  CHECK(contains(Files().add(run_report()).write("{}").failure(), "b.json is neither a trace nor a report"));
  CHECK(Files().write(trace).add(run_report()).kind_of_error() == ErrorKind::invalid_argument);
}

TEST_CASE("one report, or three, are an error that says how to compare two") {
  const std::string one = Files().add(run_report()).failure();
  CHECK(contains(one, "a.json: unsupported: a report of penstock run, not a trace; pass two such reports"));
  CHECK(contains(one, "penstock run --trace 5"));
  CHECK(contains(Files().add(bench_report({})).failure(), "a report of penstock bench or tune, not a trace; pass two"));
  CHECK(Files().add(run_report()).add(run_report()).add(run_report()).kind_of_error() == ErrorKind::unsupported);
}

TEST_CASE("a report that is cut anywhere is an error with its path") {
  const std::string text = run_report().dump();
  const std::size_t first = text.find("penstock_run") + 12;
  for (std::size_t length = 0; length < text.size(); length += length < 20 ? 1 : 13) {
    const std::string error = Files().add(run_report()).write(text.substr(0, length)).failure();
    CHECK_MESSAGE(contains(error, "b.json"), error);
    if (length > first + 1) CHECK_MESSAGE(contains(error, "that is cut or changed: not JSON at byte"), error);
  }
}

TEST_CASE("an invalid member is one error with its name") {
  CHECK(contains(failure(with(run_report(), "/loaders/0/load_s", "fast")), "\"loaders[0].load_s\" is not a number"));
  CHECK(
      contains(failure(with(run_report(), "/loaders/0/load_s", -1)), "\"loaders[0].load_s\" is -1; expected a number"));
  CHECK(
      contains(failure(with(run_report(), "/loaders/0/step_s", 1e300)), "is 1e+300; expected a number from 0 to 1e18"));
  CHECK(contains(failure(with(run_report(), "/loaders", 3)), "\"loaders\" is not a list"));
  CHECK(contains(failure(with(run_report(), "/loaders/1", 3)), "\"loaders[1]\" is not an object"));
  CHECK(contains(failure(with(run_report(), "/program", json::array())), "\"program\" is not a text"));
  CHECK(contains(failure(with(run_report(), "/penstock_run", 2)), "unsupported: format 2 of the reports"));
  for (const json& none : {json(nullptr), json(0), json(0.0)})
    CHECK(contains(failure(with(run_report(), "/loaders/0/step_s", none)), "unsupported: the report has no step time"));
  CHECK(contains(failure(with(run_report(), "/loaders", json::array())), "unsupported: the report has no step time"));
  CHECK(contains(failure(bench_report({})), "corrupt: no rows"));
  CHECK(contains(failure(bench_report({without(bench_row(1, 100), "samples_per_s")})),
                 "no member \"rows[0].samples_per_s\" with a number"));
  CHECK(contains(failure(with(bench_report({bench_row(1, 100)}), "/rows/0/samples_per_s", nullptr)),
                 "no member \"rows[0].samples_per_s\" with a number"));
  CHECK(contains(failure(with(bench_report({bench_row(1, 100)}), "/rows/0/samples_per_s_quartiles", {1, "2"})),
                 "\"rows[0].samples_per_s_quartiles\" is not a number"));
  CHECK(contains(failure(with(bench_report({bench_row(1, 100)}), "/rows/0/stages/plan", 1)),
                 "\"rows[0].stages.plan\" is not an object"));
}

TEST_CASE("NaN, numbers out of range and deep nesting are errors") {
  const auto error = [](const std::string& step) {
    return Files().write("{\"penstock_run\": 1, \"step_s\": " + step + "}").add(run_report()).failure();
  };
  CHECK(contains(error("NaN"), "not JSON at byte"));
  CHECK(contains(error("1e999"), "corrupt: a report of penstock run with an invalid number"));
  CHECK(contains(error(std::string(5000, '[')), "a.json: corrupt: "));
}

TEST_CASE("rates of zero are shown without nan and inf") {
  const json none = bench_report({bench_row(1, 0)});
  const std::string text =
      to_text(compared(with(none, "/rows/0/samples_per_s_quartiles", {0, 0}), bench_report({bench_row(1, 100)})));
  CHECK(contains(text, " 0.0      100.0 samples/s         -  "));
  CHECK_FALSE(contains(text, "nan"));
  CHECK_FALSE(contains(text, "inf"));
}

TEST_CASE("the text, the page and the figures show the same comparison") {
  const Overview found = compared(run_report(), with(few_figures(), "/num_workers", "<b>4</b>"));
  const std::string text = to_text(found), page = to_html(found);
  CHECK(text.starts_with("before: "));
  CHECK(contains(text, "-60.0 %  more than the noise, 2.2 ms\n"));
  CHECK(contains(page, "-60.0 %"));
  CHECK(contains(page, "more than the noise, 2.2 ms"));
  CHECK(contains(page, "</html>"));
  CHECK_FALSE(contains(page, "<b>4</b>"));
  const json figures = json::parse(to_json(found));
  CHECK(figures.size() == 1);
  const json& step = figures["comparison"]["tables"][0]["changes"][0];
  CHECK(step["name"] == "step");
  CHECK(step["unit"] == "s");
  CHECK(step["before"] == 0.1);
  CHECK(step["after"] == 0.04);
  CHECK(step["change"] == Approx(-0.6));
  CHECK(step["exceeds_noise"] == true);
  const json& load = figures["comparison"]["tables"][1]["changes"][0];
  CHECK(load["noise"].is_null());
  CHECK(load["exceeds_noise"].is_null());
  CHECK(figures["comparison"]["notes"].size() == 1);
}

TEST_CASE("a report with changed bytes gives an error or a comparison") {
  std::mt19937 random(7);
  const std::vector<std::string> texts{run_report().dump(), bench_report({bench_row(1, 100)}).dump()};
  for (int round = 0; round < 300; ++round) {
    const std::string& whole = texts[round % 2 == 0 ? 0 : 1];
    std::string text = whole;
    for (int i = 0; i <= round % 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    Files files;
    files.write(text).write(whole);
    try {
      const Overview found = files.overview();
      CHECK_FALSE(to_text(found).empty());
      CHECK_FALSE(to_html(found).empty());
      CHECK(json::accept(to_json(found)));
    } catch (const Error& error) {
      CHECK_FALSE(error.cause().empty());
    }
  }
}

}  // namespace penstock::test::read_report_test
