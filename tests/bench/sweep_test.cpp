#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <bench/measure/ceiling.hpp>
#include <bench/measure/sweep.hpp>
#include <bench/report/report.hpp>
#include <bench/synth/workload.hpp>
#include <bench/tryout/tune.hpp>
#include <device/host/host_device.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>

#include "support/check_soon.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::sweep_test {
namespace {

struct Icons {
  penstock::test::TemporaryFolder folder;
  std::vector<Subject> subjects;
  explicit Icons(std::uint64_t count = 300) {
    penstock::synth_icons(folder / "icons", {.count = count}, {});
    const penstock::Dataset dataset = penstock::open(folder / "icons");
    subjects.push_back({dataset, penstock::guess_task(dataset)});
  }
};

SweepOptions quick() {
  SweepOptions options;
  options.workers = {1};
  options.batch_sizes = {16};
  options.seconds = 0.15;
  options.rounds = 3;
  return options;
}

}  // namespace

TEST_CASE("a cold window ends with its epoch, because what the epoch has read is warm, and says so") {
  const Icons icons;
  const Subject& subject = icons.subjects.front();
  const penstock::LoaderOptions probe = loader_options(subject.task, {.batch_size = 16}, {});
  const std::uint64_t batches = penstock::Loader(subject.dataset, probe).batches();
  for (const auto cache : {penstock::CacheKind::none, penstock::CacheKind::encoded}) {
    for (const unsigned prefetch : {2U, 40U}) {  // fills the pipeline in the epoch's time, or does not
      const Setting setting{.workers = 1, .prefetch = prefetch, .batch_size = 16};
      penstock::TrialOptions cold;
      cold.cold = true;
      cold.loader.cache.kind = cache;
      const auto trial = penstock::run_trial(subject.dataset, subject.task, setting, cold, std::chrono::minutes(5));
      CHECK(trial.stats.notes.find("the cold window ended with its epoch") != std::string::npos);
      CHECK(trial.stats.batches == (prefetch == 2 ? batches - 4 : batches));
      CHECK(trial.first_batch > 0);
    }
  }
  const auto warm = penstock::run_trial(subject.dataset, subject.task, {.batch_size = 16}, {}, std::chrono::seconds(1));
  CHECK(warm.stats.batches > batches);
  CHECK(warm.stats.notes.empty());
}

TEST_CASE("a sweep measures every combination once and gives the fastest first") {
  const Icons icons;
  SweepOptions options = quick();
  options.workers = {1, 2, 1};
  options.prefetch = {1, 2};
  options.efficiency = false;
  std::uint64_t windows = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done == ++windows);
    CHECK(total == 12);
  };
  const auto result = penstock::sweep(icons.subjects, options);
  CHECK(windows == 12);
  REQUIRE(result.rows.size() == 4);
  CHECK(std::ranges::is_sorted(result.rows, std::greater{},
                               [](const BenchRow& row) { return row.samples_per_s.median; }));
  for (const BenchRow& row : result.rows) {
    CHECK(row.samples_per_s.low <= row.samples_per_s.median);
    CHECK(row.samples_per_s.median <= row.samples_per_s.high);
    CHECK(row.samples > 0);
    CHECK(row.first_batch_ms > 0);
    CHECK(row.rounds == 3);
    CHECK_FALSE(row.stats.stages.empty());
    CHECK_FALSE(row.engine_reason.empty());
    CHECK_FALSE(row.efficiency.has_value());
    CHECK_FALSE(row.digest.has_value());
  }
  CHECK_FALSE(result.limits.has_value());
}

TEST_CASE("with a device the copy is a stage, and stands beside a plain loop of copies") {
  const Icons icons;
  SweepOptions options = quick();
  options.trial.loader.device_options.opened = std::make_shared<penstock::HostDevice>(0);
  const BenchRow row = penstock::sweep(icons.subjects, options).rows.front();
  CHECK(row.stats.stages.back().name == "copy");
  CHECK(row.stats.stages.back().busy.count() > 0);
  CHECK(row.device == "host:0: a processor that acts as a device");
  CHECK(row.staging == "page-locked memory for host:0");
  // Of each batch at least its labels and what the fewest bytes of its pixels are.
  CHECK(row.copied_mb * 1e6 >= static_cast<double>(row.samples) * (8 + 3 * 32 * 32) * 0.9);
  CHECK(row.copy_gb_per_s > 0);
  CHECK(row.plain_copy_gb_per_s > 0);
  CHECK(row.efficiency.has_value());
  const std::string told = penstock::copies_text(row);
  CHECK(told.find("copies to host:0") == 0);
  CHECK(told.find("; a plain loop of copies ") != std::string::npos);

  options.trial.loader.device_options.opened = nullptr;
  const BenchRow plain = penstock::sweep(icons.subjects, options).rows.front();
  CHECK(plain.device.empty());
  CHECK(plain.stats.stages.back().name != "copy");
  CHECK(plain.plain_copy_gb_per_s == 0);
  CHECK(penstock::copies_text(plain).empty());
}

TEST_CASE("the digest of batches on a device is that of the host, wherever their last steps are done") {
  const Icons icons;
  SweepOptions options = quick();
  options.digest = true;
  const auto digest = [&] { return penstock::sweep(icons.subjects, options).rows.front().digest; };
  const auto on_host = digest();
  REQUIRE(on_host.has_value());
  std::atomic<std::uint64_t> passes{0};
  options.trial.loader.device_options.opened = std::make_shared<penstock::HostDevice>(
      0, penstock::HostDeviceOptions{.before = [&](const penstock::HostWork& work) {
        passes += work.kind == penstock::HostWork::Kind::image;
      }});
  CHECK(digest() == on_host);
  options.trial.loader.device_options.finish_on = penstock::FinishOn::host;
  passes = 0;
  CHECK(digest() == on_host);
  CHECK(passes == 0);
}

TEST_CASE("efficiency compares windows of loader and plain loop in pairs") {
  const Icons icons;
  check_soon([&] {
    const BenchRow row = penstock::sweep(icons.subjects, quick()).rows.front();
    REQUIRE(row.efficiency.has_value());
    CHECK(row.loop_samples_per_s > 0);
    const double median = row.efficiency->median;
    Attempt attempt;
    attempt.expect(median > 0.05 && median < 3.0, "an efficiency of " + std::to_string(median));
    return attempt;
  });
}

TEST_CASE("a digest is that of one epoch, equal for other workers and prefetch, different for another seed") {
  const Icons icons;
  SweepOptions options = quick();
  options.workers = {1, 3};
  options.prefetch = {1, 4};
  options.digest = true;
  const auto rows = penstock::sweep(icons.subjects, options).rows;
  REQUIRE(rows.size() == 4);
  for (const BenchRow& row : rows) {
    CHECK(row.samples == 300);
    CHECK(row.digest == rows.front().digest);
  }
  options.trial.loader.seed = 1;
  CHECK(penstock::sweep(icons.subjects, options).rows.front().digest != rows.front().digest);
}

TEST_CASE("a slow consumer sets the pace, and the limits say so") {
  const Icons icons;
  SweepOptions options = quick();
  options.efficiency = false;
  options.trial.consumer = penstock::Consumer::parse("sleep:20");
  const double limit = 16 / 0.020;
  const auto near_limit = [&](double rate) { return rate > 0.8 * limit && rate < 1.05 * limit; };
  check_soon([&] {
    options.mock_loader = false;
    const auto result = penstock::sweep(icons.subjects, options);
    REQUIRE(result.limits.has_value());
    Attempt attempt;
    CHECK(result.rows.front().samples_per_s.median < limit * 1.05);
    attempt.expect(result.rows.front().data_wait_percent < 60, "it stalls");
    attempt.expect(near_limit(result.limits->consumer_alone), "the consumer alone is slower");
    attempt.expect(result.limits->loader_alone > limit, "the loader alone is slower");

    options.mock_loader = true;
    const double mock = penstock::sweep(icons.subjects, options).rows.front().samples_per_s.median;
    attempt.expect(near_limit(mock), "the mock loader is slower");
    return attempt;
  });
}

TEST_CASE("options that mean nothing are refused") {
  const Icons icons(20);
  SweepOptions options = quick();
  options.mock_loader = true;
  CHECK_THROWS_WITH_AS(penstock::sweep(icons.subjects, options), doctest::Contains("requires a consumer"), Error);
  options = quick();
  options.workers = {0};
  CHECK_THROWS_WITH_AS(penstock::sweep(icons.subjects, options), doctest::Contains("at least 1"), Error);
  options = quick();
  options.seconds = 0;
  CHECK_THROWS_WITH_AS(penstock::sweep(icons.subjects, options), doctest::Contains("above 0"), Error);
  CHECK_THROWS_AS(penstock::Consumer::parse("busy"), Error);
  CHECK_THROWS_AS(penstock::Consumer::parse("busy:x"), Error);
  CHECK_THROWS_AS(penstock::Consumer::parse("sleep:-1"), Error);
  CHECK(penstock::Consumer::parse("sleep:2.5").name() == "sleep:2.5");
}

TEST_CASE("a sweep that is told to stop does so between two batches") {
  const Icons icons(50);
  SweepOptions options = quick();
  options.seconds = 1000;
  int asked = 0;
  options.trial.keep_going = [&] { return ++asked < 200; };
  CHECK_THROWS_WITH_AS(penstock::sweep(icons.subjects, options), doctest::Contains("interrupted"), Error);
}

TEST_CASE("tuning takes the cheapest of the fast settings without running all") {
  const Icons icons;
  penstock::TuneOptions options;
  options.workers = {1, 2, 4};
  options.prefetch = {1, 2, 4, 8};
  options.batch_sizes = {16};
  options.seconds = 0.15;
  options.trial.consumer = penstock::Consumer::parse("sleep:20");  // one worker keeps up with this
  check_soon([&] {
    const auto result = penstock::tune(icons.subjects.front(), options);
    CHECK(result.settings == 12);
    CHECK_FALSE(result.reason.empty());
    CHECK(result.cpp_line.find(".workers = ") != std::string::npos);
    CHECK(result.python_line.find("prefetch=") != std::string::npos);
    Attempt attempt;
    attempt.expect(result.best.setting.workers <= 2, "it takes more workers");
    attempt.expect(result.tried.size() < 12, "it runs all");
    return attempt;
  });
}

TEST_CASE("the plain loop runs on as many threads as asked and holds no more than its budget") {
  const Icons icons;
  const Subject& icon = icons.subjects.front();
  penstock::Ceiling loop(icon.dataset, icon.task.fields, 0, 100'000);
  CHECK(loop.held_bytes() >= 100'000);
  CHECK(loop.held_bytes() < 110'000);
  CHECK(loop.run({.threads = 2, .batch_size = 8, .slabs = 3}, std::chrono::milliseconds(50)) > 0);
  CHECK(loop.held_bytes() < 110'000 + 3 * 8 * (32 * 32 * 3 * 4 + 8) + 1);
}

}  // namespace penstock::test::sweep_test
