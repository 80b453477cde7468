// Measures the cost of recording a trace. trace_cost DATASET [ROUNDS] compares epochs with and without one, in turns,
// by the CPU time of the whole process. trace_cost DATASET plain|traced EPOCHS runs only one kind, for callgrind.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <bench/measure/task.hpp>
#include <penstock/loader.hpp>

namespace {

double processor_seconds() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Run {
  penstock::Loader loader;
  std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("trace_cost." + std::to_string(::getpid()) + ".json");
  penstock::TraceSummary last = {};

  /// CPU seconds of an epoch. For a traced epoch, the time of writing its file is not included, but stored in
  /// `writing`.
  double epoch(bool traced, double* writing = nullptr) {
    if (traced) loader.trace(file, {.max_events = 10'000'000});
    const double before = processor_seconds();
    while (loader.next()) {
    }
    const double took = processor_seconds() - before;
    if (!traced) return took;
    const double begun = processor_seconds();
    last = loader.end_trace();
    if (writing != nullptr) *writing = processor_seconds() - begun;
    std::filesystem::remove(file);
    return took;
  }
};

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

int main(int count, char** words) {
  if (count < 2 || count > 4) {
    std::fputs("usage: trace_cost DATASET [ROUNDS] | DATASET plain|traced EPOCHS\n", stderr);
    return 2;
  }
  const std::string mode = count > 2 ? words[2] : "200";
  const penstock::Dataset dataset = penstock::open(words[1]);
  const penstock::Task task = penstock::guess_task(dataset);
  penstock::LoaderOptions options;
  options.batch_size = 256;
  options.workers = mode == "plain" || mode == "traced" ? 1 : 2;
  options.transforms = task.fields;
  options.shuffle = true;
  Run run{penstock::Loader(dataset, options)};
  if (mode == "plain" || mode == "traced") {
    if (mode == "traced") run.loader.trace(run.file, {.max_events = 10'000'000});
    for (int i = 0; i < std::atoi(words[3]); ++i) run.epoch(false);
    std::_Exit(0);  // skips writing the recorded trace
  }
  run.epoch(false);
  std::vector<double> plain, ratios, writing;
  for (int round = 0; round < std::atoi(mode.c_str()); ++round) {
    double wrote = 0;
    const bool first = round % 2 == 0;
    const double one = run.epoch(first, first ? &wrote : nullptr);
    const double other = run.epoch(!first, first ? nullptr : &wrote);
    plain.push_back(first ? other : one);
    ratios.push_back(first ? one / other : other / one);
    writing.push_back(wrote);
  }
  std::printf(
      "an epoch of %llu samples takes %.1f ms of processor time; with a trace %.4f times (quartiles %.4f, %.4f)\n",
      static_cast<unsigned long long>(dataset.size()), 1e3 * quantile(plain, 0.5), quantile(ratios, 0.5),
      quantile(ratios, 0.25), quantile(ratios, 0.75));
  std::printf("writing its file of %llu events: %.1f ms\n", static_cast<unsigned long long>(run.last.events),
              1e3 * quantile(writing, 0.5));
}
