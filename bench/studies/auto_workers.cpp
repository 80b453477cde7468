// Usage: auto_workers [--seconds S] [--rounds R] [--ranks N] [--warm S] DATASET|nap:COMPUTES_US:SLEEPS_US...
//
// Compares workers="auto" with fixed numbers of workers, in turns. The result is the sum of samples/s over N concurrent
// ranks, each a process. Loaders with a fixed number are measured after two seconds, those with auto after --warm (30).
// A nap is a codec that computes and sleeps for the given times. Prints each setting, and auto beside the best.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <bench/measure/task.hpp>
#include <penstock/loader.hpp>

#include "support/loading.hpp"
#include "support/working_codec.hpp"

using namespace penstock;

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Arguments {
  double seconds = 5, warm = 30;
  unsigned rounds = 3, ranks = 1;
  std::vector<std::string> subjects;
};

struct Rate {
  double samples_per_s = 0;
  unsigned workers = 0;
};

double seconds_on_core() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

LoaderOptions options_of(const std::string& subject, const Dataset& dataset) {
  unsigned computes = 0, sleeps = 0;
  if (std::sscanf(subject.c_str(), "nap:%u:%u", &computes, &sleeps) != 2) {
    LoaderOptions options;
    options.transforms = guess_task(dataset).fields;
    return options;
  }
  return test::working(0, 64, [=](std::byte, Parallel*) {
    const double begun = seconds_on_core();
    while (seconds_on_core() - begun < computes * 1e-6) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(sleeps));
  });
}

// Measures in a new process. 0 workers: auto.
Rate run(const std::string& subject, const std::string& path, unsigned workers, const Arguments& arguments) {
  const Dataset dataset = open(path);
  LoaderOptions options = options_of(subject, dataset);
  options.shuffle = true;
  options.workers = workers;
  if (workers == 0) options.max_workers = kAutoWorkers;
  Loader loader(dataset, options);
  const auto take = [&](double seconds) {
    std::uint64_t samples = 0;
    const auto begun = Clock::now();
    while (Seconds(Clock::now() - begun).count() < seconds)
      if (const auto batch = loader.next()) samples += batch->size();
    return static_cast<double>(samples) / Seconds(Clock::now() - begun).count();
  };
  take(workers == 0 ? arguments.warm : 2);
  return {take(arguments.seconds), static_cast<unsigned>(loader.stats().workers_now)};
}

// Measures all ranks concurrently.
Rate run_ranks(const std::string& subject, const std::string& path, unsigned workers, const Arguments& arguments) {
  std::vector<int> answers;
  for (unsigned rank = 0; rank < arguments.ranks; ++rank) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    if (::fork() == 0) {
      ::setenv("LOCAL_WORLD_SIZE", std::to_string(arguments.ranks).c_str(), 1);
      const Rate rate = run(subject, path, workers, arguments);
      const bool written = ::write(ends[1], &rate, sizeof rate) == sizeof rate;
      std::_Exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    answers.push_back(ends[0]);
  }
  Rate sum;
  for (const int answer : answers) {
    Rate rate;
    if (::read(answer, &rate, sizeof rate) != sizeof rate) std::abort();
    ::close(answer);
    sum.samples_per_s += rate.samples_per_s;
    sum.workers += rate.workers;
  }
  while (::wait(nullptr) > 0) {
  }
  return sum;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(const std::string& subject, const Arguments& arguments) {
  const bool naps = subject.starts_with("nap:");
  std::optional<test::TemporaryFolder> folder;
  if (naps) test::write_bytes(folder.emplace() / "data", 4'000);
  const std::string path = naps ? (*folder / "data").string() : subject;
  std::vector<unsigned> choices{1, 2, 3, 4, 8};
  if (naps) choices.insert(choices.end(), {16, 32, 64});
  choices.push_back(0);
  std::vector<std::vector<double>> rates(choices.size());
  std::vector<std::string> used(choices.size());
  for (unsigned round = 0; round < arguments.rounds; ++round) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const Rate rate = run_ranks(subject, path, choices[i], arguments);
      rates[i].push_back(rate.samples_per_s);
      if (choices[i] == 0) used[i] += (used[i].empty() ? "" : ", ") + std::to_string(rate.workers);
    }
  }
  std::printf("%s, %u %s\n", subject.c_str(), arguments.ranks, arguments.ranks == 1 ? "rank" : "ranks at once");
  double best = 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const double rate = median(rates[i]);
    const auto [low, high] = std::ranges::minmax(rates[i]);
    if (choices[i] != 0) best = std::max(best, rate);
    const std::string name = choices[i] != 0 ? "workers=" + std::to_string(choices[i]) : "auto (" + used[i] + ")";
    std::printf("  %-28s %10.1f samples/s (%.1f..%.1f)\n", name.c_str(), rate, low, high);
  }
  std::printf("  auto / best: %.3f\n", median(rates.back()) / best);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const bool more = i + 1 < count;
    if (word == "--seconds" && more)
      arguments.seconds = std::atof(words[++i]);
    else if (word == "--warm" && more)
      arguments.warm = std::atof(words[++i]);
    else if (word == "--rounds" && more)
      arguments.rounds = static_cast<unsigned>(std::atoi(words[++i]));
    else if (word == "--ranks" && more)
      arguments.ranks = static_cast<unsigned>(std::atoi(words[++i]));
    else
      arguments.subjects.push_back(word);
  }
  if (arguments.subjects.empty() || arguments.rounds == 0 || arguments.ranks == 0)
    return std::puts(
               "auto_workers [--seconds S] [--rounds R] [--ranks N] [--warm S] DATASET|nap:COMPUTES_US:SLEEPS_US..."),
           2;
  for (const std::string& subject : arguments.subjects) compare(subject, arguments);
  return 0;
}
