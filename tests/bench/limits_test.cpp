#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <bench/measure/mlperf.hpp>
#include <bench/measure/residency.hpp>
#include <bench/measure/sweep.hpp>
#include <bench/report/report.hpp>
#include <bench/synth/workload.hpp>
#include <penstock/error.hpp>

#include "support/check_soon.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::limits_test {
namespace {

using namespace std::chrono_literals;

// As MLPerf Storage v2.0 has them: batch_size, computation_time and au of its YAML files.
struct Configuration {
  const char* name;
  unsigned batch_size;
  double computation_time;
  double au;
};
constexpr std::array<Configuration, 6> kConfigurations{{{"resnet50-h100", 400, 0.224, 0.90},
                                                        {"resnet50-a100", 400, 0.435, 0.90},
                                                        {"unet3d-h100", 7, 0.323, 0.90},
                                                        {"unet3d-a100", 7, 0.636, 0.90},
                                                        {"cosmoflow-h100", 1, 0.00350, 0.70},
                                                        {"cosmoflow-a100", 1, 0.00551, 0.70}}};

struct Icons {
  penstock::test::TemporaryFolder folder;
  std::vector<Subject> subjects;
  explicit Icons(std::uint64_t count = 300) {
    penstock::synth_icons(folder / "icons", {.count = count}, {});
    const penstock::Dataset dataset = penstock::open(folder / "icons");
    subjects.push_back({dataset, penstock::guess_task(dataset)});
  }
};

// DLIO's arithmetic over one epoch of steps, each a load and a compute, of which the first is left out: AU is the sum
// of the compute times by the time of the steps. With a loader that needs `load` for a batch and works ahead by one, a
// step takes the longer of the two.
double au_of_dlio(double load, double compute, unsigned steps) {
  double total = load, computed = 0, first = load;
  for (unsigned step = 0; step < steps; ++step) {
    const double took = std::max(load, compute);
    total += took;
    computed += compute;
    if (step == 0) first += took;
  }
  return (computed - compute) / (total - first);
}

}  // namespace

TEST_CASE("the accelerators are those of the benchmark's configurations") {
  REQUIRE(penstock::emulated_accelerators().size() == kConfigurations.size());
  for (const Configuration& wanted : kConfigurations) {
    const penstock::EmulatedAccelerator* accelerator = penstock::emulated_accelerator(wanted.name);
    REQUIRE_MESSAGE(accelerator != nullptr, wanted.name);
    CHECK(accelerator->batch_size == wanted.batch_size);
    CHECK(std::chrono::duration<double>(accelerator->step).count() == doctest::Approx(wanted.computation_time));
    CHECK(accelerator->least_utilisation == wanted.au);
    const auto consumer = Consumer::parse("mlperf:" + std::string(wanted.name));
    CHECK(consumer.kind == Consumer::Kind::sleep);
    CHECK(consumer.step == accelerator->step);
    CHECK(consumer.name() == "mlperf:" + std::string(wanted.name));
  }
  CHECK(penstock::emulated_accelerator("resnet50") == nullptr);
  CHECK_THROWS_WITH_AS(Consumer::parse("mlperf:resnet50-b200"), doctest::Contains("mlperf:unet3d-h100"), Error);
  CHECK_THROWS_WITH_AS(Consumer::parse("mlperf"), doctest::Contains("is not a consumer; expected mlperf:"), Error);
  CHECK(penstock::emulated_accelerator("cosmoflow-h100")->summary() == "1 sample in 3.5 ms, required utilisation 70 %");
}

TEST_CASE("so many accelerators stay at their threshold as a model of the benchmark keeps there") {
  for (const Configuration& each : kConfigurations) {
    const auto& accelerator = *penstock::emulated_accelerator(each.name);
    for (const double rate : {1.0, 7.0, 180.0, 199.0, 1607.0, 1608.0, 12'345.0, 1e6}) {
      // Of N accelerators each gets rate / N samples a second: a batch in batch_size * N / rate.
      std::uint64_t fed = 0;
      while (au_of_dlio(each.batch_size * static_cast<double>(fed + 1) / rate, each.computation_time, 50) >=
             each.au - 1e-9)
        ++fed;
      CHECK_MESSAGE(accelerator.fed_by(rate) == fed, each.name << " at " << rate);
    }
    CHECK(accelerator.fed_by(3 * accelerator.least_samples_per_s()) == 3);
    CHECK(accelerator.fed_by(0) == 0);
    CHECK(accelerator.fed_by(std::nan("")) == 0);
  }
}

TEST_CASE("the utilisation is compute time by time, as the benchmark has it") {
  for (const double load : {0.1, 0.224, 0.25, 0.5}) {
    const double step = std::max(load, 0.224);
    CHECK(penstock::accelerator_utilisation(49, 224ms, 49 * step) == doctest::Approx(au_of_dlio(load, 0.224, 50)));
  }
  CHECK(penstock::accelerator_utilisation(10, 224ms, 0) == 0);
}

TEST_CASE("a sweep tells the utilisation of its consumer's accelerator, which a slow loader lowers") {
  const Icons icons;
  SweepOptions options;
  options.workers = {1};
  options.batch_sizes = {1};
  options.seconds = 0.3;
  options.rounds = 3;
  options.efficiency = options.limits = false;
  options.trial.consumer = Consumer::parse("mlperf:cosmoflow-a100");
  const auto result = penstock::sweep(icons.subjects, options);
  REQUIRE(result.accelerator != nullptr);
  const BenchRow& row = result.rows.front();
  REQUIRE(row.accelerator_utilisation.has_value());
  // Both are of the same record; what the loop itself takes is neither computing nor waiting.
  CHECK(*row.accelerator_utilisation <= 1.0 - row.data_wait_percent / 100 + 0.02);
  CHECK(*row.accelerator_utilisation ==
        doctest::Approx(static_cast<double>(row.stats.batches) * 0.00551 / row.seconds));

  options.mock_loader = true;  // sums of several rounds without a loader
  check_soon([&] {
    const BenchRow mock = penstock::sweep(icons.subjects, options).rows.front();
    CHECK(mock.stats.batches == mock.samples);
    CHECK(mock.step_ms > 5.5);
    CHECK(mock.data_wait_percent == 0);
    Attempt attempt;
    attempt.expect(*mock.accelerator_utilisation > 0.5, "its sleep took twice as long");
    return attempt;
  });

  options.mock_loader = false;
  options.digest = true;  // times of a whole epoch with its beginning
  CHECK_FALSE(penstock::sweep(icons.subjects, options).rows.front().accelerator_utilisation.has_value());
}

TEST_CASE("the step behind the last batch of a window counts as training") {
  const Icons icons(60);
  const Subject& subject = icons.subjects.front();
  TrialOptions options;
  options.consumer = Consumer::parse("sleep:20");
  const Trial trial =  // one batch
      penstock::run_trial(subject.dataset, subject.task, {.workers = 1, .batch_size = 16}, options, 1ms);
  REQUIRE(trial.stats.batches == 1);
  CHECK(trial.stats.step_time >= 20ms);
  CHECK(std::chrono::duration<double>(trial.stats.wall).count() ==
        doctest::Approx(trial.seconds));  // the verdict's whole
  CHECK(std::chrono::duration<double>(trial.stats.step_time + trial.stats.data_wait).count() ==
        doctest::Approx(trial.seconds));
}

TEST_CASE("a stall split is the differences of the three runs, and never negative") {
  StallSplit split;
  split.instant = 0.025;
  split.cached = 0.031;
  split.cold = 0.044;
  CHECK(split.compute() == doctest::Approx(0.025));
  CHECK(split.prep_stall() == doctest::Approx(0.006));
  CHECK(split.fetch_stall() == doctest::Approx(0.013));
  CHECK(split.step() == doctest::Approx(0.044));
  split.cold = 0.020;  // noise
  CHECK(split.fetch_stall() == 0);
  CHECK(split.step() == doctest::Approx(0.031));
  split.cached = 0.024;
  CHECK(split.prep_stall() == 0);
  CHECK(split.step() == doctest::Approx(0.025));
  split.cold = 0.030;  // what the cores did not cost is no fetch stall twice
  CHECK(split.fetch_stall() == doctest::Approx(0.005));
  CHECK(split.step() == doctest::Approx(0.030));
  split.cold.reset();
  CHECK(split.step() == doctest::Approx(0.025));
}

TEST_CASE("a stall split measures the consumer, the cores and storage in turns") {
  const Icons icons(200);
  const Subject& subject = icons.subjects.front();
  TrialOptions options;
  options.consumer = Consumer::parse("sleep:5");
  unsigned windows = 0;
  const StallSplit split = penstock::stall_split(subject.dataset, subject.task, {.workers = 1, .batch_size = 16},
                                                 options, 60ms, 2, [&] { ++windows; });
  CHECK(windows == 6);
  CHECK(split.rounds == 2);
  CHECK(split.instant >= 0.005);
  CHECK(split.cached >= 0.005);
  CHECK(split.cached_share == doctest::Approx(1.0));
  CHECK_FALSE(split.cached_engine.empty());
  // Which of the two it is depends on where temporary files lie.
  CHECK(split.cold.has_value() == (split.cold_share <= 0.1));
  CHECK(split.cold.has_value() == (split.notes.find("fetch stall is not known") == std::string::npos));

  options.loader.cache.kind = CacheKind::encoded;
  CHECK_THROWS_WITH_AS(penstock::stall_split(subject.dataset, subject.task, {}, options, 60ms, 1),
                       doctest::Contains("without a cache"), Error);
  CHECK_THROWS_WITH_AS(penstock::stall_split(subject.dataset, subject.task, {}, {}, 60ms, 1),
                       doctest::Contains("requires a consumer"), Error);
}

TEST_CASE("pages that were dropped come back when the files are read") {
  const Icons icons(50);
  const Dataset& dataset = icons.subjects.front().dataset;
  penstock::drop_pages(dataset);
  CHECK(penstock::bring_pages(dataset) == doctest::Approx(1.0));
  CHECK(penstock::resident_share(dataset) == doctest::Approx(1.0));
  CHECK_THROWS_WITH_AS(penstock::bring_pages(dataset, [] { return false; }), doctest::Contains("interrupted"), Error);
}

TEST_CASE("a sweep splits the stalls of each task's fastest row, and counts those windows") {
  Icons icons(60);
  icons.subjects.push_back(
      {icons.subjects.front().dataset, penstock::task_named("raw", icons.subjects.front().dataset)});
  SweepOptions options;
  options.workers = {1, 2};
  options.batch_sizes = {16};
  options.seconds = 0.1;
  options.rounds = 2;
  options.efficiency = options.limits = false;
  options.stall_split = true;
  options.trial.consumer = Consumer::parse("sleep:2");
  std::uint64_t windows = 0, all = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done == ++windows);
    all = total;
  };
  const auto result = penstock::sweep(icons.subjects, options);
  CHECK(windows == all);
  CHECK(all == 2 * 4 + 2 * 2 * 3);
  REQUIRE(result.rows.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(result.rows[i].stall_split.has_value() == (i % 2 == 0));

  options.trial.consumer = {};
  CHECK_THROWS_WITH_AS(penstock::sweep(icons.subjects, options), doctest::Contains("a stall split requires a consumer"),
                       Error);
  options.trial.consumer = Consumer::parse("sleep:2");
  options.trial.loader.cache.kind = CacheKind::encoded;
  CHECK_THROWS_WITH_AS(penstock::sweep(icons.subjects, options), doctest::Contains("without a cache"), Error);
}

namespace {

BenchReport report_with(Consumer consumer) {
  BenchReport report;
  ReportedSubject subject;
  subject.dataset.path = "/data/photos";
  subject.dataset.format = "tar";
  subject.dataset.samples = 1000;
  subject.task = "image-train";
  report.subjects.push_back(subject);
  report.consumer = consumer.name();
  report.result.accelerator = consumer.accelerator;
  BenchRow row;
  row.setting = {2, 4, 400};
  row.samples_per_s = {1500, 1400, 1600};
  row.data_wait_ms = 0.1;
  row.step_ms = 0.56;
  row.pinned = true;
  if (consumer.accelerator != nullptr) row.accelerator_utilisation = 0.84;
  report.result.rows.push_back(row);
  row.setting = {4, 2, 400};
  row.samples_per_s = {1490, 1400, 1600};
  row.data_wait_ms = 0.05;
  row.pinned = false;
  report.result.rows.push_back(row);
  return report;
}

}  // namespace

TEST_CASE("the table has the columns of the tutorials, and the shortest loading time first") {
  const BenchReport report = report_with(Consumer::parse("sleep:224"));
  CHECK(report.epoch_data_wait_s(report.result.rows[0]) == doctest::Approx(0.1));
  CHECK(report.epoch_step_s(report.result.rows[0]) == doctest::Approx(0.56));
  const std::string text = penstock::to_text(report);
  const std::size_t head =
      text.find("workers  prefetch  pinned  batch  data wait s/epoch  steps s/epoch  samples/s  data wait %  peak MB");
  REQUIRE(head != std::string::npos);
  const std::string table = text.substr(head);
  CHECK(table.find("0.050") < table.find("0.100"));
  CHECK(table.find("yes") > table.find("no "));
  const auto json = nlohmann::json::parse(penstock::to_json(report));
  CHECK(json["rows"][0]["samples_per_s"] == 1500);  // tools have them as before: the fastest first
  CHECK(json["rows"][0]["pinned"] == true);
  CHECK(json["rows"][0]["epoch_data_wait_s"].get<double>() == doctest::Approx(0.1));
  CHECK(json["rows"][1]["epoch_step_s"].get<double>() == doctest::Approx(0.56));
  CHECK(json["accelerator"].is_null());
  CHECK(json["rows"][0]["stall_split"].is_null());
}

TEST_CASE("a report tells how many accelerators stay at the threshold, and by which figure") {
  BenchReport report = report_with(Consumer::parse("mlperf:resnet50-h100"));
  std::string text = penstock::to_text(report);
  CHECK(text.find("mlperf:resnet50-h100: 400 samples in 224 ms, required utilisation 90 %\n") != std::string::npos);
  CHECK(text.find("measured: one accelerator is 84.0 % utilised, which is not enough") != std::string::npos);
  CHECK(text.find("only from the loader's rate") == std::string::npos);
  report.result.limits = Limits{1780, 3300};
  report.result.rows.front().accelerator_utilisation = 0.95;
  text = penstock::to_text(report);
  CHECK(text.find("95.0 % utilised, which is enough") != std::string::npos);
  CHECK(text.find("only from the loader's rate, 3,300 samples/s: 2 such accelerators stay at 90 % (each then takes "
                  "1,607 samples/s)") != std::string::npos);
  const auto json = nlohmann::json::parse(penstock::to_json(report));
  CHECK(json["accelerator"]["fed_by_loader_alone"] == 2);
  CHECK(json["accelerator"]["batch_size"] == 400);
  CHECK(json["rows"][0]["accelerator_utilisation"] == 0.95);
  report.result.rows.front().setting.batch_size = 64;
  CHECK(penstock::to_text(report).find("measured with 64 samples in the same time") != std::string::npos);
}

TEST_CASE("a report tells what a step is made of, and what could not be measured") {
  BenchReport report = report_with(Consumer::parse("sleep:25"));
  BenchRow& row = report.result.rows.front();
  row.stats.stages.push_back({"decode", 2, 6s, 1s, 0s});
  row.stall_split.emplace();
  row.stall_split->instant = 0.025;
  row.stall_split->cached = 0.030;
  row.stall_split->cold = 0.050;
  std::string text = penstock::to_text(report);
  CHECK(text.find("a step of 50.00 ms: compute 25.00 ms (50.0 %), prep stall (cores) 5.00 ms (10.0 %), fetch stall "
                  "(storage) 20.00 ms (40.0 %)") != std::string::npos);
  CHECK(text.find("pages dropped") != std::string::npos);
  auto json = nlohmann::json::parse(penstock::to_json(report));
  CHECK(json["rows"][0]["stall_split"]["fetch_stall_s"].get<double>() == doctest::Approx(0.020));
  row.stall_split->cold.reset();
  row.stall_split->notes = "97 % of the dataset's pages stayed";
  text = penstock::to_text(report);
  CHECK(text.find("fetch stall not measured\n  97 % of the dataset's pages stayed\n") != std::string::npos);
  json = nlohmann::json::parse(penstock::to_json(report));
  CHECK(json["rows"][0]["stall_split"]["fetch_stall_s"].is_null());
}

}  // namespace penstock::test::limits_test
