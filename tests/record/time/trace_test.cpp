// Tests traces: that they are well formed, agree with the table of stages, and end well whatever happens.
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <record/time/stage_clock.hpp>
#include <storage/read/read_engine.hpp>

#include "support/check_soon.hpp"
#include "support/engines.hpp"
#include "support/loading.hpp"
#include "support/settled.hpp"
#include "support/throttled_engine.hpp"
#include "support/working_codec.hpp"

namespace penstock::test::trace_test {

using Json = nlohmann::json;
using namespace std::chrono_literals;

namespace {

Json read_trace(const std::filesystem::path& file) {
  std::ifstream text(file);
  return Json::parse(text);
}

void work_for(std::chrono::nanoseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

// In nanoseconds, of numbers that have three digits behind the point.
std::int64_t nanoseconds_of(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

struct Slice {
  std::string name;
  std::int64_t begin, end, inner = 0;  // inner: of the slices right within it
  std::string within = {};
};

// All of a file, by line; fails where those of a line do not nest.
std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Slice>> slices_of(const Json& trace) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Slice>> lines;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const std::int64_t begin = nanoseconds_of(event["ts"]);
    lines[{event["pid"], event["tid"]}].push_back({event["name"], begin, begin + nanoseconds_of(event["dur"])});
  }
  for (auto& [line, slices] : lines) {
    std::ranges::stable_sort(
        slices, [](const Slice& a, const Slice& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
    std::vector<Slice*> open;
    for (Slice& slice : slices) {
      while (!open.empty() && open.back()->end <= slice.begin) open.pop_back();
      if (!open.empty()) {
        CAPTURE(slice.name);
        CAPTURE(open.back()->name);
        REQUIRE(slice.end <= open.back()->end);
        open.back()->inner += slice.end - slice.begin;
        slice.within = open.back()->name;
      }
      open.push_back(&slice);
    }
  }
  return lines;
}

// Seconds by stage, as its own spans say.
std::map<std::string, double> stages_of(const Json& trace) {
  std::map<std::string, double> sums;
  std::vector<Slice> ahead;
  for (const auto& [line, slices] : slices_of(trace)) {
    for (const Slice& slice : slices) {
      const double alone = static_cast<double>(slice.end - slice.begin - slice.inner) * 1e-9;
      if (line.first % 4 == 1)
        ahead.push_back(slice);
      else if (slice.name == "rows" || slice.name == "sample" || slice.name == "deliver")
        sums["deliver"] += alone;
      else if (line.first % 4 == 0)
        sums[slice.name] += alone;
    }
  }
  std::ranges::sort(ahead, {}, &Slice::begin);
  std::int64_t until = nanoseconds_of(trace["penstock"]["from"]);  // the table counts from there
  for (const Slice& slice : ahead) {
    sums["read"] += static_cast<double>(std::max<std::int64_t>(0, slice.end - std::max(until, slice.begin))) * 1e-9;
    until = std::max(until, slice.end);
  }
  return sums;
}

const StageStats& stage(const Stats& stats, const std::string& name) {
  return *std::ranges::find(stats.stages, name, &StageStats::name);
}

std::vector<Json> named(const Json& trace, const std::string& name) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"])
    if (event["name"] == name) found.push_back(event);
  return found;
}

struct Run {
  Stats stats;
  TraceSummary summary;
  Json trace;
};

// Some epochs, recorded from their beginning on.
Run recorded(const Dataset& dataset, const LoaderOptions& options, int epochs, const TraceOptions& tracing = {},
             const Loader::EngineFactory& engine = choose_engine) {
  const TemporaryFolder folder;
  Loader loader(dataset, options, engine);
  while (loader.next()) {
  }
  settled(loader);
  loader.reset_stats();
  loader.trace(folder / "trace.json", tracing);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    while (loader.next()) work_for(200us);
  }
  const Stats stats = settled(loader);
  const TraceSummary summary = loader.end_trace();
  return {stats, summary, read_trace(folder / "trace.json")};
}

}  // namespace

TEST_CASE("the spans of a trace add up to the table of stages") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 120);
  const Dataset dataset = open(folder / "data");
  for (const bool ahead : {false, true}) {
    for (const bool cached : {false, true}) {
      CAPTURE(ahead);
      CAPTURE(cached);
      LoaderOptions options = working(2, 8, [](std::byte, Parallel*) { work_for(400us); });
      options.read_options.engine = EngineKind::in_worker;
      options.shuffle = true;
      options.cache.kind = cached ? CacheKind::decoded : CacheKind::none;
      options.batch_transform = [](Batch&) { work_for(300us); };
      const Run run =
          recorded(dataset, options, 6, {}, ahead ? ThrottledEngine::factory({.latency = 3ms}) : choose_engine);
      CHECK(run.summary.dropped == 0);
      auto sums = stages_of(run.trace);
      for (const std::string name : {"plan", "read", "decode", "transform", "deliver", "custom_transform"}) {
        CAPTURE(name);
        const double told = std::chrono::duration<double>(stage(run.stats, name).busy).count();
        CAPTURE(told);
        CAPTURE(sums[name]);
        CHECK(std::abs(sums[name] - told) <= 0.02 * told + 0.0001);
      }
      CHECK(sums["next"] == doctest::Approx(std::chrono::duration<double>(run.stats.data_wait).count()).epsilon(1e-6));
      CHECK(sums["step"] == doctest::Approx(std::chrono::duration<double>(run.stats.step_time).count()).epsilon(1e-6));
    }
  }
}

TEST_CASE("every sample and batch is in a trace, and flows lead from reads to next()") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 64);
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::io_uring, EngineKind::pread}) {
    if (engine == EngineKind::io_uring && uring_refusal() != 0) continue;
    CAPTURE(name(engine));
    LoaderOptions options = working(3, 8, [](std::byte, Parallel*) {});
    options.read_options.engine = engine;
    const TemporaryFolder out;
    Json trace;
    {
      Loader loader(open(folder / "data"), options);
      loader.trace(out / "trace.json");
      loader.set_epoch(1);  // all that is delivered was begun while recording
      for (int epoch = 0; epoch < 2; ++epoch)
        while (loader.next()) {
        }
    }  // the loader's end is the trace's
    trace = read_trace(out / "trace.json");
    std::map<std::string, int> keys;
    for (const Json& sample : named(trace, "sample")) ++keys[sample["args"]["key"]];
    CHECK(keys.size() == 64);
    CHECK(std::ranges::all_of(keys, [](const auto& key) { return key.second >= 2; }));
    const std::vector<Json> waits = named(trace, "next");
    REQUIRE(waits.size() == 16);
    for (std::size_t i = 0; i < waits.size(); ++i) {
      CHECK(waits[i]["args"]["epoch"] == 1 + i / 8);
      CHECK(waits[i]["args"]["batch"] == i % 8);
    }
    CHECK(named(trace, "filling").size() >= 16);
    CHECK(named(trace, "held").size() >= 1);
    CHECK(named(trace, "batches ready").size() == 16);
    CHECK(named(trace, "request").size() ==
          (engine == EngineKind::in_worker ? 0 : named(trace, "request").size() / 2 * 2));
    if (engine != EngineKind::in_worker) CHECK(named(trace, "request").size() >= 2 * 128);

    const auto lines = slices_of(trace);
    const auto at = [&](const Json& flow) {  // the names of what it is bound to, the innermost last
      std::set<std::string> names;
      const std::int64_t when = nanoseconds_of(flow["ts"]);
      for (const Slice& slice : lines.at({flow["pid"], flow["tid"]}))
        if (slice.begin <= when && when <= slice.end) names.insert(slice.name);
      return names;
    };
    std::map<std::int64_t, std::string> phases;
    std::map<std::int64_t, double> last;
    std::size_t complete = 0;
    for (const Json& flow : named(trace, "rows")) {
      if (!flow.contains("id")) continue;
      const std::string phase = flow["ph"];
      std::string& before = phases[flow["id"]];
      if (!before.empty()) CHECK(flow["ts"].get<double>() >= last[flow["id"]]);
      last[flow["id"]] = flow["ts"];
      before += phase;
      if (phase == "s" && engine != EngineKind::in_worker) CHECK(at(flow).contains("read"));
      if (phase == "t") CHECK(at(flow).contains("rows"));
      if (before == "stf") CHECK(at(flow).contains("next"));
      if (before == "stf") ++complete;
    }
    CHECK(complete >= 16);
    CHECK(std::ranges::all_of(phases, [](const auto& flow) { return flow.second == "stf" || flow.second == "sf"; }));
  }
}

TEST_CASE("what does not fit into a trace is counted") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 400);
  LoaderOptions options = working(2, 8, [](std::byte, Parallel*) {});
  const Run all = recorded(open(folder / "data"), options, 10);
  CHECK(all.summary.dropped == 0);
  CHECK(all.summary.events > 4000);
  const Run some = recorded(open(folder / "data"), options, 10, {.max_events = 2048});
  CHECK(some.summary.events <= 2048);
  CHECK(some.summary.events + some.summary.dropped >= 4000);
  CHECK(some.trace["penstock"]["dropped"] == some.summary.dropped);
  slices_of(some.trace);
}

TEST_CASE("under a schedule only the active steps are recorded") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 80);
  LoaderOptions options = working(1, 4, [](std::byte, Parallel*) {});
  const TraceOptions tracing{.schedule = Schedule{.wait = 3, .warmup = 2, .active = 2, .repeat = 2}};
  const Run run = recorded(open(folder / "data"), options, 1, tracing);
  std::vector<int> batches;
  for (const Json& wait : named(run.trace, "next")) batches.push_back(wait["args"]["batch"]);
  CHECK(batches == std::vector{5, 6, 12, 13});
}

TEST_CASE("a schedule has the phases of PyTorch's") {
  const Schedule schedule{.wait = 1, .warmup = 2, .active = 3, .repeat = 2, .skip_first = 1};
  std::string phases;
  for (std::uint64_t step = 0; step < 15; ++step) phases += name(schedule.of(step)).front();
  CHECK(phases == "wwwwaaawwwaaaww");
  CHECK(Schedule{.active = 2}.of(1'000'000) == Schedule::Phase::active);
  CHECK_THROWS_WITH_AS((Schedule{.active = 0}.check()), doctest::Contains("at least one active step"), Error);
}

TEST_CASE("a trace whose file cannot be written is refused before it begins") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 8);
  Loader loader(open(folder / "data"), working(1, 4, [](std::byte, Parallel*) {}));
  CHECK_THROWS_WITH_AS(loader.trace(folder / "nowhere" / "trace.json"), doctest::Contains("nowhere/trace.json"), Error);
  CHECK_THROWS_WITH_AS(loader.trace(folder / "data"), doctest::Contains("cannot write the trace"), Error);
  CHECK_THROWS_WITH_AS(loader.trace(""), doctest::Contains("requires a file name"), Error);
  CHECK_THROWS_WITH_AS(loader.end_trace(), doctest::Contains("no trace is being recorded"), Error);
  loader.trace(folder / "trace.json");
  CHECK_FALSE(std::filesystem::exists(folder / "trace.json"));
  CHECK_THROWS_WITH_AS(loader.trace(folder / "other.json"), doctest::Contains("trace.json: end it"), Error);
  CHECK(loader.next());
  loader.end_trace();
  CHECK(read_trace(folder / "trace.json").contains("traceEvents"));
  CHECK(std::ranges::distance(std::filesystem::directory_iterator(folder.path())) == 2);
}

TEST_CASE("a full disk ends a trace with an error, and the loader goes on") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 8);
  Loader loader(open(folder / "data"), working(1, 4, [](std::byte, Parallel*) {}));
  loader.trace("/dev/full");
  CHECK(loader.next());
  CHECK_THROWS_WITH_AS(loader.end_trace(), doctest::Contains("/dev/full"), Error);
  CHECK(loader.next());
  CHECK(std::filesystem::is_character_file("/dev/full"));
  loader.trace("/dev/null");
  loader.end_trace();
  loader.trace("/dev/full");  // and the loader is destroyed
}

TEST_CASE("a trace goes on over another position, and keys of any bytes are text in it") {
  const TemporaryFolder folder;
  for (const char* name : {"plain", "quo\"te", "back\\slash", "uml\xc3\xa4ut", "bad\xff", "tab\t"})
    write_file(folder / "data" / (std::string(name) + ".bin"), "x");
  const TemporaryFolder out;
  Loader loader(open(folder / "data"), working(2, 2, [](std::byte, Parallel*) {}));
  loader.next();
  const LoaderState state = loader.state();
  loader.trace(out / "trace.json");
  loader.restore(state);
  while (loader.next()) {
  }
  loader.set_epoch(5);
  loader.next();
  loader.end_trace();
  const Json trace = read_trace(out / "trace.json");
  slices_of(trace);
  std::set<std::string> keys;
  for (const Json& sample : named(trace, "sample")) keys.insert(sample["args"]["key"]);
  CHECK(keys.contains("quo\"te"));
  CHECK(keys.contains("uml\xc3\xa4ut"));
  CHECK(keys.contains("bad\xef\xbf\xbd"));
  std::vector<int> epochs;
  for (const Json& wait : named(trace, "next")) epochs.push_back(wait["args"]["epoch"]);
  CHECK(epochs == std::vector{0, 0, 5});
}

TEST_CASE("steps are split into data wait by stage, compute and other, and their parts add up") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 48);
  LoaderOptions options = working(1, 4, [](std::byte, Parallel*) { work_for(1ms); });
  Loader loader(open(folder / "data"), options);
  while (loader.next()) work_for(1ms);
  const Steps steps = loader.steps();
  REQUIRE(steps.last.size() == 12);
  CHECK(steps.first == 0);
  const Stats stats = loader.stats();
  CHECK(steps.sum.data_wait() == stats.data_wait);
  CHECK(steps.sum.decode > steps.sum.data_wait() / 5);
  StepTime sum;
  for (const StepTime& step : steps.last) {
    sum += step;
    CHECK(step.batches == 1);
    CHECK(step.compute >= 1ms);
  }
  CHECK(sum.all() == steps.sum.all());
}

TEST_CASE("a marked step has what lies between two marks, and what comes after a mark is no batch's") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 48);
  Loader loader(open(folder / "data"), working(1, 4, [](std::byte, Parallel*) {}));
  for (int step = 0; step < 3; ++step) {
    loader.next();
    work_for(2ms);
    loader.next();
    loader.mark_step();
    work_for(3ms);
  }
  const Steps steps = loader.steps();
  REQUIRE(steps.last.size() == 3);
  StepTime sum;
  for (const StepTime& step : steps.last) {
    CHECK(step.batches == 2);  // the first one too, whose batches were steps of their own until it was marked
    CHECK(step.compute >= 2ms);
    sum += step;
  }
  CHECK(steps.last[2].other >= 3ms);
  CHECK(sum.all() == steps.sum.all());
  loader.reset_stats();
  CHECK(loader.steps().last.empty());
}

TEST_CASE("time between epochs belongs to no batch") {
  const TemporaryFolder folder;
  write_bytes(folder / "data", 8);
  check_soon([&] {  // of a loop that does nothing a loaded machine may make 20 ms
    Loader loader(open(folder / "data"), working(1, 4, [](std::byte, Parallel*) {}));
    while (loader.next()) {
    }
    work_for(20ms);
    loader.next();
    loader.mark_step();
    const Steps steps = loader.steps();
    REQUIRE(steps.last.size() == 3);
    CHECK(steps.last[2].other >= 20ms);
    Attempt attempt;
    attempt.expect(steps.sum.compute < 20ms, "it counts as compute");
    return attempt;
  });
}

}  // namespace penstock::test::trace_test
