// Usage: predictions [--seconds S] [--rounds R] DATASET...|naps|machines
//
// Compares the pipeline model's predictions for other settings with measurements. Each prediction uses a run of one
// setting. Covers each dataset as stored; the first one also behind storage with a limited rate or a delay; and codecs
// that sleep, on 4 to 64 workers. Then predicts other machines, on which sleeping codecs simulate cores: as many as
// there are workers. Prints each setting, then the median and the worst error of each part, beyond the quartiles of the
// measurements. Datasets named "naps" and "machines" select the parts that sleep.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <bench/tryout/check.hpp>
#include <loader/model/gains.hpp>

#include "support/loading.hpp"
#include "support/throttled_engine.hpp"
#include "support/working_codec.hpp"

using namespace penstock;

namespace {

struct Arguments {
  double seconds = 5;
  unsigned rounds = 5;
  std::vector<std::string> datasets;
};

void report(const std::vector<CheckRow>& rows) {
  std::vector<double> errors;
  for (const CheckRow& row : rows) {
    const double beyond = std::max({row.predicted / row.measured.high - 1, 1 - row.predicted / row.measured.low, 0.0});
    errors.push_back(beyond);
    std::printf("  %-32s predicted %9.1f  measured %9.1f (%.1f..%.1f)  %+6.1f %%  %s\n", row.name.c_str(),
                row.predicted, row.measured.median, row.measured.low, row.measured.high, 100 * row.error(),
                row.limit.c_str());
  }
  std::ranges::sort(errors);
  if (!errors.empty())
    std::printf("  off, beyond the quartiles: median %.1f %%, worst %.1f %%\n", 100 * errors[errors.size() / 2],
                100 * errors.back());
  std::fflush(stdout);
}

// Errors of the predictions in one part, beyond the variation of the measured rates.
void report(const std::string& part, const CheckResult& result) {
  std::printf(
      "%s: %u workers, prefetch %u, batch size %u: %.1f samples/s (%.1f..%.1f); a core's speed, all at work: %.2f\n",
      part.c_str(), result.base.workers, result.base.prefetch, result.base.batch_size, result.measured.median,
      result.measured.low, result.measured.high, result.machine.full_speed);
  for (const Gain& gain : result.gains) std::printf("  gain: %s\n", gain.text.c_str());
  report(result.rows);
}

CheckOptions options_of(const Arguments& arguments, Setting base, std::vector<Setting> settings) {
  CheckOptions options;
  options.base = base;
  options.settings = std::move(settings);
  options.seconds = arguments.seconds;
  options.rounds = arguments.rounds;
  return options;
}

void datasets(const Arguments& arguments) {
  for (const std::string& path : arguments.datasets) {
    const Dataset dataset = open(path);
    const Subject subject{dataset, guess_task(dataset)};
    report(path, check(subject, options_of(arguments, {2, 2, 64},
                                           {{1, 2, 64}, {4, 2, 64}, {2, 1, 64}, {2, 8, 64}, {2, 2, 16}, {2, 2, 256}})));
    CheckOptions fed = options_of(arguments, {1, 2, 64}, {{2, 2, 64}, {2, 4, 64}});
    fed.trial.consumer = Consumer::parse("sleep:20");
    report(path + ", consumer sleep:20", check(subject, fed));
  }
}

void throttled(const Arguments& arguments, const std::string& what, const test::Throttle& throttle) {
  const Dataset dataset = open(arguments.datasets.front());
  const Subject subject{dataset, guess_task(dataset)};
  CheckOptions options =
      options_of(arguments, {2, 2, 64}, {{1, 2, 64}, {2, 1, 64}, {2, 8, 64}, {2, 2, 16}, {2, 2, 256}});
  options.trial.make_engine = test::ThrottledEngine::factory(throttle);
  report(arguments.datasets.front() + ", " + what, check(subject, options));
}

// Samples of `bytes` bytes, each of which sleeps in its codec. One in a hundred may be a very large sample.
class Naps {
 public:
  Naps(std::size_t bytes, bool giants) {
    for (unsigned i = 0; i < 4'000; ++i)
      test::write_file(folder_ / "data" / (test::number_key(i) + ".bin"),
                       std::string(bytes, giants && i % 100 == 50 ? 'G' : 's'));
  }
  Subject subject() const {
    const auto work = [](std::byte first, Parallel*) {
      std::this_thread::sleep_for(first == std::byte{'G'} ? 40 * kNap : kNap);
    };
    return {
        open(folder_ / "data"),
        {.name = "naps", .reason = "sleeps", .fields = {{"bin", decode(std::make_shared<test::WorkingCodec>(work))}}}};
  }

 private:
  static constexpr auto kNap = std::chrono::milliseconds(4);
  const test::TemporaryFolder folder_;
};

void sleeping(const Arguments& arguments, bool giants) {
  const Naps naps(1, giants);
  report(
      giants ? "codecs that sleep, one in a hundred 40 times as long" : "codecs that sleep",
      check(naps.subject(), options_of(arguments, {8, 2, 64},
                                       {{4, 2, 64}, {16, 2, 64}, {32, 2, 64}, {64, 2, 64}, {16, 8, 64}, {64, 8, 64}})));
}

TrialOptions trial_on(const OtherMachine& machine) {
  TrialOptions trial;
  if (machine.bytes_per_s) trial.make_engine = test::ThrottledEngine::factory({.bytes_per_s = *machine.bytes_per_s});
  if (machine.step) trial.consumer = Consumer::parse("sleep:" + std::to_string(*machine.step * 1e3));
  return trial;
}

// Predicts from runs with four workers, on storage of 40 MB/s and without a consumer. The model takes the sleep of a
// row for computing.
void machines(const Arguments& arguments, bool giants) {
  const Naps naps(10'000, giants);
  const Subject subject = naps.subject();
  const Setting base{4, 2, 64};
  const OtherMachine here = OtherMachine::parse("cores=4,disk=40MB/s");
  const std::vector<std::string> wanted{"cores=8",
                                        "cores=16",
                                        "cores=32",
                                        "cores=8,step=100ms",
                                        "cores=8,step=32ms",
                                        "cores=16,disk=20MB/s",
                                        "cores=32,disk=200MB/s",
                                        "cores=32,disk=200MB/s,step=20ms"};
  const auto window = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(arguments.seconds / arguments.rounds));
  Stats recorded;
  std::vector<double> of_base;
  std::vector<std::vector<double>> rates(wanted.size());
  for (unsigned round = 0; round < arguments.rounds; ++round) {
    const Trial trial = run_trial(subject.dataset, subject.task, base, trial_on(here), window);
    add(recorded, trial.stats);
    of_base.push_back(trial.samples_per_s());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      OtherMachine there = OtherMachine::parse(wanted[i]);
      if (!there.bytes_per_s) there.bytes_per_s = here.bytes_per_s;
      const Setting setting{*there.cores, base.prefetch, base.batch_size};
      rates[i].push_back(run_trial(subject.dataset, subject.task, setting, trial_on(there), window).samples_per_s());
    }
  }
  recorded.workers_on_cores = recorded.workers_await_cores = {};
  const Forecast forecast = forecast_of(subject, base, trial_on(here), recorded, {.cores = 4, .full_speed = 1});
  const double measured = spread_of(of_base).median, steady = measured / forecast.demands().samples_per_s;
  std::printf("machines of codecs that sleep%s, from one of 4 cores, 40 MB/s: %.1f samples/s\n",
              giants ? ", one in a hundred 40 times as long" : "", measured);
  std::vector<CheckRow> rows;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Outlook outlook = advise(forecast, OtherMachine::parse(wanted[i])).elsewhere->outlook;
    rows.push_back({.name = wanted[i],
                    .setting = base,
                    .predicted = outlook.samples_per_s * steady,
                    .measured = spread_of(rates[i]),
                    .limit = outlook.limit});
  }
  report(rows);
}

}  // namespace

int main(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--seconds" && i + 1 < count)
      arguments.seconds = std::atof(words[++i]);
    else if (word == "--rounds" && i + 1 < count)
      arguments.rounds = static_cast<unsigned>(std::atoi(words[++i]));
    else
      arguments.datasets.push_back(word);
  }
  const auto named = [&](const char* part) { return std::erase(arguments.datasets, part) != 0; };
  if (arguments.datasets.empty())
    return std::puts("predictions [--seconds S] [--rounds R] DATASET...|naps|machines"), 2;
  const bool naps = named("naps"), others = named("machines"), all = !naps && !others;
  if (!arguments.datasets.empty()) {
    datasets(arguments);
    throttled(arguments, "at 100 MB/s", {.bytes_per_s = 100e6});
    throttled(arguments, "answers after 3 ms", {.latency = std::chrono::milliseconds(3)});
  }
  for (const bool giants : {false, true}) {
    if (naps || all) sleeping(arguments, giants);
    if (others || all) machines(arguments, giants);
  }
  return 0;
}
