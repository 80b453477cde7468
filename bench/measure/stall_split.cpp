#include <algorithm>
#include <cstdint>
#include <vector>

#include <bench/measure/residency.hpp>
#include <bench/measure/spread.hpp>
#include <bench/measure/stall_split.hpp>
#include <bench/measure/units.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// limit for the bytes read to warm the pages of each cached run
constexpr std::uint64_t kReadAgain = std::uint64_t{2} << 30;
// a run counts as cold if at most this share of the pages stayed
constexpr double kDropped = 0.1;
constexpr double kHeld = 0.9;  // share of the pages that must be in memory, as for a row that is called warm

double step_of(const Trial& trial) {
  return trial.seconds / static_cast<double>(std::max<std::uint64_t>(1, trial.stats.batches));
}

double median(std::vector<double> values) {
  return spread_of(std::move(values)).median;
}

std::string percent(double share) {
  return fixed(100 * share, 0) + " %";
}

}  // namespace

double StallSplit::prep_stall() const {
  return std::max(0.0, cached - instant);
}

double StallSplit::fetch_stall() const {
  return cold ? std::max(0.0, *cold - std::max(cached, instant)) : 0.0;
}

StallSplit stall_split(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options,
                       std::chrono::nanoseconds window, unsigned rounds, const std::function<void()>& measured) {
  if (options.consumer.kind == Consumer::Kind::none)
    throw Error::invalid_argument("a stall split requires a consumer (busy:MS, sleep:MS or mlperf:NAME)");
  if (options.loader.cache.kind != CacheKind::none)
    throw Error::invalid_argument(
        "a stall split requires a loader without a cache, because later epochs with a cache read nothing");
  TrialOptions cached = options, cold = options;
  cached.cold = cached.loader.read_options.direct_io =
      false;  // direct reads go to storage even if the pages are in memory
  cold.cold = true;

  StallSplit split;
  split.rounds = std::max(1U, rounds);
  split.cached_share = 1;
  std::vector<double> instants, cacheds, colds;
  const auto keep = [&](std::vector<double>& steps, const Trial& trial) {
    steps.push_back(step_of(trial));
    if (measured) measured();
  };
  const auto run_cold = [&] {
    const Trial dropped = run_trial(dataset, task, setting, cold, window);
    keep(colds, dropped);
    split.cold_share = std::max(split.cold_share, dropped.resident_share);
    split.cold_engine = name(dropped.stats.engine);
  };
  std::uint64_t bytes = 0;
  for (std::uint32_t number = 0; number < dataset.file_count(); ++number) bytes += dataset.file(number).size;
  const bool in_turns = bytes <= kReadAgain;
  for (unsigned round = 0; round < split.rounds; ++round) {
    keep(instants, run_consumer_alone(setting, options, window));
    bring_pages(dataset, options.keep_going);
    const Trial warm = run_trial(dataset, task, setting, cached, window);
    keep(cacheds, warm);
    split.cached_share = std::min(split.cached_share, warm.resident_share);
    split.cached_engine = name(warm.stats.engine);
    if (in_turns) run_cold();
  }
  for (unsigned round = 0; !in_turns && round < split.rounds; ++round) run_cold();
  split.instant = median(instants);
  split.cached = median(cacheds);
  if (split.cold_share <= kDropped) {
    split.cold = median(colds);
  } else {
    split.notes = percent(split.cold_share) +
                  " of the dataset's pages stayed in memory when they were dropped (a file system in memory, or other "
                  "programs have them mapped), so the fetch stall is not known";
  }
  if (split.cached_share < kHeld)
    split.notes += (split.notes.empty() ? "" : "; ") +
                   ("only " + percent(split.cached_share) +
                    " of the dataset's pages could be held in memory: reads of the others count as prep stall");
  return split;
}

}  // namespace penstock
