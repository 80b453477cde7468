#include <algorithm>
#include <memory>

#include <penstock/base/cores.hpp>
#include <penstock/base/error.hpp>
#include <penstock/bench/measure/ceiling.hpp>
#include <penstock/bench/measure/sweep.hpp>

namespace penstock {
namespace {

using Seconds = std::chrono::duration<double>;

std::chrono::nanoseconds nanoseconds_of(double seconds) {
  constexpr double kLongest = 1e9;  // 31 years: any time of the clock and it add up
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
  if (settings.empty()) throw Error::invalid_argument("a sweep needs at least one prefetch depth and one batch size");
  return settings;
}

// The slabs that a loader has: ready ones, those in the consumer's hands, one being filled.
LoopOptions loop_of(const Setting& setting) {
  return {.threads = setting.workers, .batch_size = setting.batch_size, .slabs = setting.prefetch + 3};
}

// What the consumer reaches when a batch is always there.
Trial run_consumer_alone(const Setting& setting, const TrialOptions& options, double seconds) {
  Trial trial;
  const auto start = std::chrono::steady_clock::now();
  do {
    options.consumer.take();
    trial.stats.samples += setting.batch_size;
    ++trial.stats.batches;
    if (options.keep_going && !options.keep_going()) throw Error::resource("interrupted");
    trial.seconds = Seconds(std::chrono::steady_clock::now() - start).count();
  } while (trial.seconds < seconds);
  trial.stats.engine_reason = "mock loader: the consumer alone";
  return trial;
}

Limits limits_of(const Subject& subject, const Setting& setting, const SweepOptions& options) {
  const double seconds = std::min(options.seconds, 2.0);
  TrialOptions alone = options.trial;
  alone.consumer = {};
  return {run_consumer_alone(setting, options.trial, seconds).samples_per_s(),
          run_trial(subject.dataset, subject.task, setting, alone, nanoseconds_of(seconds)).samples_per_s()};
}

// The plain loops, one for each subject; they share the memory that a report allows for.
class Loops {
 public:
  Loops(std::span<const Subject> subjects, const SweepOptions& options) {
    for (const Subject& subject : subjects)
      loops_.push_back(std::make_unique<Ceiling>(subject.dataset, subject.task.fields, options.trial.seed,
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

Trial run_window(const Subject& subject, const Setting& setting, const SweepOptions& options, double seconds) {
  if (options.mock_loader) return run_consumer_alone(setting, options.trial, seconds);
  if (options.digest) return run_epoch(subject.dataset, subject.task, setting, options.trial);
  return run_trial(subject.dataset, subject.task, setting, options.trial, nanoseconds_of(seconds));
}

void sort_rows(std::span<const Subject> subjects, std::vector<BenchRow>& rows) {
  const auto place = [&](const BenchRow& row) {  // of the first subject with the same task
    return std::ranges::find(subjects, subjects[row.subject].task.name, [](const Subject& s) { return s.task.name; }) -
           subjects.begin();
  };
  std::ranges::stable_sort(rows, std::greater{}, [](const BenchRow& row) { return row.samples_per_s.median; });
  std::ranges::stable_sort(rows, std::less{}, place);
}

}  // namespace

SweepResult sweep(std::span<const Subject> subjects, const SweepOptions& options) {
  if (subjects.empty()) throw Error::invalid_argument("a sweep needs a dataset");
  if (!(options.seconds > 0)) throw Error::invalid_argument("the time of a bench must be above 0 seconds");
  const bool has_consumer = options.trial.consumer.kind != Consumer::Kind::none;
  if (options.mock_loader && !has_consumer)
    throw Error::invalid_argument("a mock loader needs a consumer (busy:MS or sleep:MS), else nothing is measured");
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
  if (paired)  // page faults and cold code are nobody's efficiency
    for (const auto& [subject, setting] : runs) loops.run(subject, setting, std::min(window, 0.1));

  std::uint64_t done = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto& [subject, setting] = runs[i];
      const Trial trial = run_window(subjects[subject], setting, options, window);
      const double loop_rate = loops.run(subject, setting, window);
      records[i].add(trial, loop_rate, loops.bytes());
      if (options.progress) options.progress(++done, std::uint64_t{rounds} * runs.size());
    }
  }
  SweepResult result;
  for (const RowRecord& record : records) result.rows.push_back(record.row());
  sort_rows(subjects, result.rows);
  const BenchRow& first = result.rows.front();
  if (has_consumer && options.limits && !options.mock_loader && !options.digest)
    result.limits = limits_of(subjects[first.subject], first.setting, options);
  return result;
}

}  // namespace penstock
