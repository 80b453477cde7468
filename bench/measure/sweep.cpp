#include <algorithm>
#include <memory>
#include <set>

#include <base/cores.hpp>
#include <bench/measure/ceiling.hpp>
#include <bench/measure/sweep.hpp>
#include <penstock/error.hpp>
#include <record/time/trace_file.hpp>

namespace penstock {
namespace {

constexpr unsigned kSplitRounds = 3, kSplitRuns = 3;

using Seconds = std::chrono::duration<double>;

std::chrono::nanoseconds nanoseconds_of(double seconds) {
  constexpr double kLongest = 1e9;  // 31 years, so that adding it to any clock time cannot overflow
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(std::min(seconds, kLongest)));
}

std::vector<Setting> settings_of(const SweepOptions& options) {
  const std::vector<unsigned> workers = options.workers.empty() ? std::vector{usable_cores()} : options.workers;
  std::vector<Setting> settings = options.settings;
  if (settings.empty())
    for (const std::uint32_t batch_size : options.batch_sizes)
      for (const unsigned prefetch : options.prefetch)
        for (const unsigned count : workers) {
          const Setting setting{count, prefetch, batch_size};
          if (std::ranges::find(settings, setting) == settings.end()) settings.push_back(setting);
        }
  if (std::ranges::any_of(settings, [](const Setting& s) { return !s.workers || !s.prefetch || !s.batch_size; }))
    throw Error::invalid_argument("workers, prefetch and batch size must be at least 1");
  if (settings.empty())
    throw Error::invalid_argument("a sweep requires at least one prefetch depth and one batch size");
  return settings;
}

// The slabs of a loader: `prefetch` ready batches, those that the consumer holds, and one being filled.
LoopOptions loop_of(const Setting& setting) {
  return {.threads = setting.workers, .batch_size = setting.batch_size, .slabs = setting.prefetch + 3};
}

Limits limits_of(const Subject& subject, const Setting& setting, const SweepOptions& options) {
  const std::chrono::nanoseconds time = nanoseconds_of(std::min(options.seconds, 2.0));
  TrialOptions alone = options.trial;
  alone.consumer = {};
  return {run_consumer_alone(setting, options.trial, time).samples_per_s(),
          run_trial(subject.dataset, subject.task, setting, alone, time).samples_per_s()};
}

// The plain loops, one for each subject. They share the memory budget of a report.
class Loops {
 public:
  Loops(std::span<const Subject> subjects, const SweepOptions& options) {
    for (const Subject& subject : subjects)
      loops_.push_back(std::make_unique<Ceiling>(subject.dataset, subject.task.fields, options.trial.loader.seed,
                                                 kLoopBytes / subjects.size(), options.trial.keep_going));
  }
  double run(std::size_t subject, const Setting& setting, double seconds) {
    return loops_.empty() ? 0.0 : loops_[subject]->run(loop_of(setting), nanoseconds_of(seconds));
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& loop : loops_) sum += loop->held_bytes();
    return sum;
  }

 private:
  static constexpr std::uint64_t kLoopBytes = std::uint64_t{512} << 20;
  std::vector<std::unique_ptr<Ceiling>> loops_;
};

TraceSummary traced(const Subject& subject, const Setting& setting, const SweepOptions& options) {
  TrialOptions trial = options.trial;
  trial.trace = options.trace;
  const double seconds = std::min(options.seconds, 2.0);
  return *run_trial(subject.dataset, subject.task, setting, trial, nanoseconds_of(seconds)).trace;
}

Trial run_window(const Subject& subject, const Setting& setting, const SweepOptions& options, double seconds) {
  if (options.mock_loader) return run_consumer_alone(setting, options.trial, nanoseconds_of(seconds));
  if (options.digest) return run_epoch(subject.dataset, subject.task, setting, options.trial);
  return run_trial(subject.dataset, subject.task, setting, options.trial, nanoseconds_of(seconds));
}

std::uint64_t tasks_of(std::span<const Subject> subjects) {
  std::set<std::string_view> names;
  for (const Subject& subject : subjects) names.insert(subject.task.name);
  return names.size();
}

void sort_rows(std::span<const Subject> subjects, std::vector<BenchRow>& rows) {
  const auto place = [&](const BenchRow& row) {  // position of the first subject with the same task
    return std::ranges::find(subjects, subjects[row.subject].task.name, [](const Subject& s) { return s.task.name; }) -
           subjects.begin();
  };
  std::ranges::stable_sort(rows, std::greater{}, [](const BenchRow& row) { return row.samples_per_s.median; });
  std::ranges::stable_sort(rows, std::less{}, place);
}

}  // namespace

SweepResult sweep(std::span<const Subject> subjects, const SweepOptions& options) {
  if (subjects.empty()) throw Error::invalid_argument("a sweep requires a dataset");
  if (!(options.seconds > 0)) throw Error::invalid_argument("the time of a benchmark must be above 0 seconds");
  const bool has_consumer = options.trial.consumer.kind != Consumer::Kind::none;
  if (options.mock_loader && !has_consumer)
    throw Error::invalid_argument(
        "a mock loader requires a consumer (busy:MS or sleep:MS); without one, there is nothing to measure");
  if (options.stall_split && (!has_consumer || options.mock_loader || options.digest))
    throw Error::invalid_argument(
        "a stall split requires a consumer (busy:MS, sleep:MS or mlperf:NAME) and cannot be combined with a mock "
        "loader or a digest");
  if (options.stall_split && options.trial.loader.cache.kind != CacheKind::none)
    throw Error::invalid_argument(
        "a stall split requires a loader without a cache, because later epochs with a cache read nothing");
  if (options.mock_loader && !options.trace.empty())
    throw Error::invalid_argument("a trace cannot be combined with a mock loader");
  if (!options.trace.empty()) TraceFile{options.trace};  // throws before anything is measured
  const unsigned half_seconds = static_cast<unsigned>(std::min(1e6, options.seconds * 2));
  const unsigned rounds = options.digest ? 1 : options.rounds > 0 ? options.rounds : std::max(3U, half_seconds);
  const double window = options.seconds / rounds;
  const bool paired = options.efficiency && !options.digest && !options.mock_loader;

  std::vector<RowRecord> records;
  std::vector<std::pair<std::size_t, Setting>> runs;
  for (std::size_t subject = 0; subject < subjects.size(); ++subject)
    for (const Setting& setting : settings_of(options)) {
      runs.emplace_back(subject, setting);
      records.emplace_back(subject, setting);
    }
  Loops loops(paired ? subjects : std::span<const Subject>{}, options);
  if (paired)  // warm-up: page faults and cold code must not count in the efficiency
    for (const auto& [subject, setting] : runs) loops.run(subject, setting, std::min(window, 0.1));

  const unsigned split_rounds = options.rounds > 0 ? options.rounds : kSplitRounds;
  const std::uint64_t splits = options.stall_split ? tasks_of(subjects) * split_rounds * kSplitRuns : 0;
  std::uint64_t done = 0;
  const auto window_done = [&] {
    if (options.progress) options.progress(++done, std::uint64_t{rounds} * runs.size() + splits);
  };
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto& [subject, setting] = runs[i];
      const Trial trial = run_window(subjects[subject], setting, options, window);
      const double loop_rate = loops.run(subject, setting, window);
      records[i].add(trial, loop_rate, loops.bytes());
      window_done();
    }
  }
  SweepResult result;
  result.accelerator = options.trial.consumer.accelerator;
  for (const RowRecord& record : records) {
    BenchRow& row = result.rows.emplace_back(record.row());
    if (result.accelerator != nullptr && !options.digest)
      row.accelerator_utilisation = accelerator_utilisation(row.stats.batches, result.accelerator->step, row.seconds);
  }
  sort_rows(subjects, result.rows);
  if (options.stall_split)
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      BenchRow& row = result.rows[i];
      const Subject& subject = subjects[row.subject];
      if (i > 0 && subjects[result.rows[i - 1].subject].task.name == subject.task.name) continue;
      row.stall_split = stall_split(subject.dataset, subject.task, row.setting, options.trial,
                                    nanoseconds_of(options.seconds / split_rounds), split_rounds, window_done);
    }
  const BenchRow& first = result.rows.front();
  if (has_consumer && options.limits && !options.mock_loader && !options.digest)
    result.limits = limits_of(subjects[first.subject], first.setting, options);
  if (!options.trace.empty()) result.trace = traced(subjects[first.subject], first.setting, options);
  return result;
}

}  // namespace penstock
