// Usage: predictions [--seconds S] [--rounds R] DATASET...
//
// What the model of the pipeline predicts for other settings beside what they give, from a run of one setting: for each
// dataset as it lies there, for the first one also behind storage that gives so many bytes a second or answers after a
// while, and for codecs that sleep on 4 to 64 workers. Prints each setting, then the median and the worst error of each
// part, beyond the quartiles of what was measured.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <penstock/bench/measure/check.hpp>

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

// Of one part: how far predictions were off, beyond how much the measured rates vary.
void report(const std::string& part, const CheckResult& result) {
  std::printf(
      "%s: %u workers, prefetch %u, batch size %u: %.1f samples/s (%.1f..%.1f); a core's speed, all at work: %.2f\n",
      part.c_str(), result.base.workers, result.base.prefetch, result.base.batch_size, result.measured.median,
      result.measured.low, result.measured.high, result.machine.full_speed);
  std::vector<double> errors;
  for (const CheckRow& row : result.rows) {
    const double beyond = std::max({row.predicted / row.measured.high - 1, 1 - row.predicted / row.measured.low, 0.0});
    errors.push_back(beyond);
    std::printf("  %-32s predicted %9.1f  measured %9.1f (%.1f..%.1f)  %+6.1f %%  %s\n", row.name.c_str(),
                row.predicted, row.measured.median, row.measured.low, row.measured.high, 100 * row.error(),
                row.limit.c_str());
  }
  for (const Gain& gain : result.gains) std::printf("  gain: %s\n", gain.text.c_str());
  std::ranges::sort(errors);
  if (!errors.empty())
    std::printf("  off, beyond the quartiles: median %.1f %%, worst %.1f %%\n", 100 * errors[errors.size() / 2],
                100 * errors.back());
  std::fflush(stdout);
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

// Samples of one byte, of which one in a hundred may be a giant.
void sleeping(const Arguments& arguments, bool giants) {
  constexpr auto kNap = std::chrono::milliseconds(4);
  const test::TemporaryFolder folder;
  for (unsigned i = 0; i < 4'000; ++i)
    test::write_file(folder / "data" / (test::number_key(i) + ".bin"), giants && i % 100 == 50 ? "G" : "s");
  const auto work = [=](std::byte first, Parallel*) {
    std::this_thread::sleep_for(first == std::byte{'G'} ? 40 * kNap : kNap);
  };
  const Subject subject{
      open(folder / "data"),
      {.name = "naps", .reason = "sleeps", .fields = {{"bin", decode(std::make_shared<test::WorkingCodec>(work))}}}};
  report(giants ? "codecs that sleep, one in a hundred 40 times as long" : "codecs that sleep",
         check(subject, options_of(arguments, {8, 2, 64},
                                   {{4, 2, 64}, {16, 2, 64}, {32, 2, 64}, {64, 2, 64}, {16, 8, 64}, {64, 8, 64}})));
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
  if (arguments.datasets.empty()) return std::puts("predictions [--seconds S] [--rounds R] DATASET..."), 2;
  if (std::getenv("NAPS") == nullptr) datasets(arguments);
  if (std::getenv("NAPS") == nullptr) throttled(arguments, "at 100 MB/s", {.bytes_per_s = 100e6});
  if (std::getenv("NAPS") == nullptr)
    throttled(arguments, "answers after 3 ms", {.latency = std::chrono::milliseconds(3)});
  sleeping(arguments, false);
  sleeping(arguments, true);
  return 0;
}
