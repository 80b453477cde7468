// Shared by the programs that compare a loader with plain loops: threads, windows, and rows of results.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <base/memory.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>

namespace penstock::beside {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string dataset, field;
  unsigned workers = 2;
  int rounds = 5;
  double seconds = 1;
  std::uint32_t batch_size = 64;
};

/// DATASET [FIELD] [--workers 2] [--rounds 5] [--seconds 1] [--batch-size 64]. Throws Error: invalid_argument.
inline Options parse(std::span<char*> arguments, const char* program) {
  Options options;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with("--")) {
      names.emplace_back(argument);
      continue;
    }
    const double number = i + 1 < arguments.size() ? std::atof(arguments[++i]) : 0;
    if (number <= 0) throw Error::invalid_argument(std::string(argument) + " needs a number above 0");
    if (argument == "--workers")
      options.workers = static_cast<unsigned>(number);
    else if (argument == "--rounds")
      options.rounds = static_cast<int>(number);
    else if (argument == "--seconds")
      options.seconds = number;
    else if (argument == "--batch-size")
      options.batch_size = static_cast<std::uint32_t>(number);
    else
      throw Error::invalid_argument("no option is called " + std::string(argument));
  }
  if (names.empty() || names.size() > 2)
    throw Error::invalid_argument("usage: " + std::string(program) + " DATASET [FIELD]");
  options.dataset = names[0];
  if (names.size() == 2) options.field = names[1];
  return options;
}

/// Samples per second of a loop with as many threads as the loader has workers. fill(turn, row) writes the rows of
/// `slabs` slabs, which are reused like the loader's.
template <class Fill>
double run_loop(const Options& options, const Memory& memory, std::size_t slabs, std::size_t row_bytes, Fill fill) {
  std::atomic<std::uint64_t> next{0};
  constexpr std::uint64_t kAtOnce = 16;  // rows between two reads of the clock and the counter
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration<double>(options.seconds);
  const auto work = [&] {
    while (Clock::now() < end) {
      const std::uint64_t first = next.fetch_add(kAtOnce, std::memory_order_relaxed);
      for (std::uint64_t turn = first; turn < first + kAtOnce; ++turn)
        fill(turn, memory.data() + turn % (slabs * options.batch_size) * row_bytes);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < options.workers; ++i) threads.emplace_back(work);
  }
  return static_cast<double>(next.load()) / std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Samples per second of a loader, after as many batches as there are slabs.
inline double run_loader(Loader& loader, const Options& options) {
  const std::uint64_t warm = loader.stats().slabs;
  std::uint64_t batches = 0;
  Clock::time_point begin{};
  for (;;) {
    for (std::optional<Batch> batch = loader.next(); batch; batch = loader.next()) {
      const auto now = Clock::now();
      if (batches == warm) begin = now;
      if (batches > warm && now - begin > std::chrono::duration<double>(options.seconds)) {
        return static_cast<double>((batches - warm) * options.batch_size) /
               std::chrono::duration<double>(now - begin).count();
      }
      ++batches;
    }
  }
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// A line of the report: samples per second of each round, and their ratio to the paired loop, if any.
struct Line {
  const char* name;
  std::vector<double> rates = {}, ratios = {};
};

inline void print_heading() {
  std::printf("%-44s %10s  %s\n", "", "samples/s", "[lowest-highest]  penstock / plain, pair by pair");
}

inline void print(const Line& line) {
  std::printf("%-44s %10.0f  [%.0f-%.0f]", line.name, median(line.rates), std::ranges::min(line.rates),
              std::ranges::max(line.rates));
  if (!line.ratios.empty())
    std::printf("  %.3f [%.3f-%.3f]", median(line.ratios), std::ranges::min(line.ratios),
                std::ranges::max(line.ratios));
  std::printf("\n");
}

/// Body of main(): calls `run` with the parsed options. Returns 1 after an error, which goes to stderr.
template <class Run>
int run_program(const char* program, std::span<char*> arguments, Run run) {
  try {
    run(parse(arguments.subspan(1), arguments[0]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: error: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace penstock::beside
