// Advice: predictions for other machines and settings, and checks of them.
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include <doctest/doctest.h>

#include <bench/report/check_report.hpp>
#include <bench/tryout/check.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <penstock/error.hpp>

#include "support/check_soon.hpp"
#include "support/throttled_engine.hpp"
#include "support/working_codec.hpp"

namespace penstock::test::advice_test {
namespace {

using namespace std::chrono_literals;

// Samples that take 2 ms of a worker each, without a core.
struct Naps {
  Naps() { write_bytes(folder / "data", 200); }
  Subject subject() const {
    const auto work = [](std::byte, Parallel*) { std::this_thread::sleep_for(2ms); };
    return {open(folder / "data"),
            {.name = "naps",
             .reason = "a test",
             .fields = {{"bin", decode(std::make_shared<WorkingCodec>(work))}},
             .shuffle = true}};
  }
  TemporaryFolder folder;
};

MachineModel two_cores() {
  return {.cores = 2, .full_speed = 1};
}

Forecast forecast(double step_ms) {
  Demands demands;
  demands.rows.assign(1000, {.computes = 1e-3, .bytes = 100'000});
  demands.row_bytes = 1000;
  demands.step = step_ms / 1e3;
  demands.samples_per_s = 2000;
  LoaderOptions options;
  options.workers = 2;
  return {demands, two_cores(), options};
}

}  // namespace

TEST_CASE("another machine is told in parts, each of them or not") {
  const OtherMachine all = OtherMachine::parse("cores=32,disk=3GB/s,step=40ms");
  CHECK(all.cores == 32U);
  CHECK(all.bytes_per_s == doctest::Approx(3e9));
  CHECK(all.step == doctest::Approx(0.040));
  CHECK(all.name() == "32 cores, storage of 3.00 GB/s, a step of 40.0 ms");
  CHECK(OtherMachine::parse("step=250us").step == doctest::Approx(250e-6));
  CHECK(OtherMachine::parse("step=1.5s").step == doctest::Approx(1.5));
  CHECK(OtherMachine::parse("disk=500MB").bytes_per_s == doctest::Approx(500e6));
  CHECK_FALSE(OtherMachine::parse("cores=1").step.has_value());
}

TEST_CASE("a machine in wrong words names the part") {
  for (const char* wrong :
       {"cores", "cores=", "cores=0", "cores=-2", "cores=2x", "cores=5000", "core=3", "disk=3", "disk=0.5/s", "disk=0",
        "step=4", "step=-4ms", "step=nanms", "step=4 ms", "cores=2,,step=1ms", "gpu=3"})
    CHECK_THROWS_AS_MESSAGE(OtherMachine::parse(wrong), Error, wrong);
  CHECK_THROWS_WITH_AS(OtherMachine::parse("cores=4,disk=fast"), doctest::Contains("fast"), Error);
}

TEST_CASE("what another machine gives follows from its parts") {
  const auto elsewhere = [](const Forecast& forecast, const char* machine) {
    return advise(forecast, OtherMachine::parse(machine)).elsewhere->outlook;
  };
  CHECK(elsewhere(forecast(0), "cores=16").samples_per_s == doctest::Approx(16'000).epsilon(0.03));
  const Outlook disk = elsewhere(forecast(0), "cores=16,disk=500MB/s");
  CHECK(disk.samples_per_s == doctest::Approx(5'000).epsilon(0.03));
  CHECK(disk.limit.find("storage bandwidth at 500") == 0);
  const Outlook step = elsewhere(forecast(0), "cores=16,step=64ms");
  CHECK(step.samples_per_s == doctest::Approx(1'000).epsilon(0.02));
  CHECK(step.limit == "the consumer");
  CHECK(to_text(advise(forecast(0), OtherMachine::parse("cores=16"))).find("on 16 cores, with 16 workers: ") !=
        std::string::npos);
  CHECK_FALSE(advise(Forecast({}, {}, {}), OtherMachine::parse("cores=16")).known);
}

// Each worker stands for a core: a codec that sleeps occupies none, and is taken for one that computes.
TEST_CASE("what is predicted of machines with more cores is what they give") {
  const TemporaryFolder folder;
  for (unsigned i = 0; i < 1'000; ++i)  // naps of 2 to 6 ms
    write_file(folder / "data" / (number_key(i) + ".bin"), std::string(10'000, static_cast<char>(i % 5)));
  const auto work = [](std::byte nap, Parallel*) {
    std::this_thread::sleep_for((2 + std::to_integer<int>(nap)) * 1ms);
  };
  const Subject subject{open(folder / "data"),
                        {.name = "naps",
                         .reason = "a test",
                         .fields = {{"bin", decode(std::make_shared<WorkingCodec>(work))}},
                         .shuffle = true}};
  const auto run = [&](const OtherMachine& machine) {
    TrialOptions trial;
    trial.make_engine = ThrottledEngine::factory({.bytes_per_s = *machine.bytes_per_s});
    if (machine.step) trial.consumer = Consumer::parse("sleep:" + std::to_string(*machine.step * 1e3));
    return run_trial(subject.dataset, subject.task, {*machine.cores, 2, 32}, trial, 600ms);
  };
  check_soon([&] {
    Stats stats = run(OtherMachine::parse("cores=4,disk=40MB/s")).stats;
    stats.workers_on_cores = stats.workers_await_cores = {};
    const Forecast from_four = forecast_of(subject, {4, 2, 32}, {}, stats, {.cores = 4, .full_speed = 1});
    Attempt attempt;
    for (const char* machine : {"cores=8,disk=40MB/s", "cores=16,disk=40MB/s", "cores=32,disk=40MB/s",
                                "cores=16,disk=20MB/s", "cores=16,disk=40MB/s,step=25ms"}) {
      const OtherMachine there = OtherMachine::parse(machine);
      const double predicted = advise(from_four, there).elsewhere->outlook.samples_per_s;
      const double measured = run(there).samples_per_s();
      attempt.expect(std::abs(predicted / measured - 1) < 0.2,
                     std::string(machine) + ": " + std::to_string(predicted) + ", not " + std::to_string(measured));
    }
    return attempt;
  });
}

TEST_CASE("where storage binds, what cannot be told of it is named") {
  const Naps naps;
  const Subject subject = naps.subject();
  const TemporaryFolder folder;
  const Subject packed{test::packed(subject.dataset, folder / "tar", "tar"), subject.task};
  Demands demands;
  demands.rows.assign(1000, {.computes = 1e-3, .bytes = 100'000});
  demands.samples_per_s = 100;
  demands.reads_ahead = true;
  LoaderOptions options;
  options.workers = 2;
  const Forecast fast(demands, two_cores(), options);
  demands.storage.bytes_per_s = 10e6;
  const Forecast slow(demands, two_cores(), options);
  const auto knobs = [](const std::vector<std::string>& lines) {
    std::string all;
    for (const std::string& line : lines) all += line.substr(0, line.find(": no prediction: ")) + " ";
    return all;
  };
  CHECK(knobs(untold(packed, slow, {}, 0.2)) == "direct_io shuffle_block ");
  TrialOptions both;
  both.loader.read_options.direct_io = true;
  both.loader.shuffle_block = 8;
  CHECK(untold(packed, slow, both, 0.2).empty());
  CHECK(knobs(untold(packed, slow, {}, 1)) == "shuffle_block ");  // of memory, direct I/O makes storage
  CHECK(knobs(untold(subject, slow, {}, 1)).empty());             // files have no neighbours
  CHECK(untold(packed, fast, {}, 0.2).empty());
  CHECK(untold(packed, Forecast({}, {}, {}), {}, 0.2).empty());
}

TEST_CASE("a check puts predictions beside runs") {
  const Naps naps;
  CheckOptions options;
  options.base = {.workers = 2, .prefetch = 2, .batch_size = 8};
  options.settings = {{.workers = 8, .prefetch = 2, .batch_size = 8}, {.workers = 2, .prefetch = 2, .batch_size = 8}};
  options.seconds = 1;
  options.rounds = 3;
  std::uint64_t windows = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    CHECK(done == ++windows);
    CHECK(all == 9);
  };
  CheckResult result;
  check_soon([&] {
    windows = 0;
    result = check(naps.subject(), options);
    CHECK(windows == 9);
    REQUIRE(result.rows.size() == 2);
    CHECK(result.rows[0].name == "workers=8");
    CHECK(result.rows[1].name == "as measured");
    const double same = result.rows[1].predicted / result.measured.median;
    const double more = result.rows[0].predicted / (4 * result.measured.median);
    Attempt attempt;
    attempt.expect(std::abs(same - 1) < 0.02, "the same is predicted as " + std::to_string(same));
    attempt.expect(std::abs(more - 1) < 0.15, "four times is predicted as " + std::to_string(more));
    return attempt;
  });

  const auto json = nlohmann::json::parse(to_json({{"naps", "task", result}}));
  const auto& one = json.at("checks").at(0);
  CHECK(one.at("rows").at(0).at("setting") == "workers=8");
  CHECK(one.at("rows").at(0).at("predicted_samples_per_s") == doctest::Approx(result.rows[0].predicted));
  CHECK(one.at("base").at("samples_per_s") == doctest::Approx(result.measured.median));
  CHECK(to_text({{"naps", "task", result}}).find("workers=8") != std::string::npos);
}

TEST_CASE("without settings a check takes what is advised") {
  const Naps naps;
  CheckOptions options;
  options.base = {.workers = 1, .prefetch = 2, .batch_size = 8};
  options.seconds = 0.6;
  options.rounds = 2;
  check_soon([&] {
    const CheckResult result = check(naps.subject(), options);
    REQUIRE(!result.rows.empty());
    Attempt attempt;
    attempt.expect(result.rows[0].name.find("workers") == 0, "it advises " + result.rows[0].name);
    attempt.expect(result.rows[0].measured.median > 2 * result.measured.median, "the advice is worth little");
    return attempt;
  });
}

TEST_CASE("a check without time is refused") {
  const Naps naps;
  CheckOptions options;
  options.seconds = 0;
  CHECK_THROWS_AS(check(naps.subject(), options), Error);
  options.seconds = 1;
  options.rounds = 0;
  CHECK_THROWS_AS(check(naps.subject(), options), Error);
}

}  // namespace penstock::test::advice_test
