// Measures many settings in turns, so that other load on the machine affects all of them alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <penstock/bench/measure/trial.hpp>

namespace penstock {

/// A dataset and what is done with its samples.
struct Subject {
  Dataset dataset;
  Task task;
};

struct SweepOptions {
  std::vector<Setting> settings;  ///< to measure; empty: every combination of the three lists that follow
  std::vector<unsigned> workers;  ///< empty: usable cores
  std::vector<unsigned> prefetch = {2};
  std::vector<std::uint32_t> batch_sizes = {64};
  double seconds = 5;        ///< measured for each setting, over all rounds
  unsigned rounds = 0;       ///< 0: one for each half second, at least 3
  bool efficiency = true;    ///< pair every window with one of the plain loop
  bool digest = false;       ///< exactly one epoch for each setting, hashed; no efficiency
  bool limits = true;        ///< with a consumer, also measure it and the loader alone
  bool mock_loader = false;  ///< the consumer alone, with a loader that takes no time
  TrialOptions trial = {};
  /// Called after every window with (windows done, windows in all).
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

/// Median and quartiles of what the rounds gave.
struct Spread {
  double median = 0, low = 0, high = 0;  ///< low and high: first and third quartile
};
Spread spread_of(std::vector<double> values);  ///< all zero for none

struct BenchRow {
  std::size_t subject = 0;  ///< position of what was measured in the list given to sweep()
  Setting setting;
  std::string engine, engine_reason;
  Spread samples_per_s;
  double mb_per_s = 0;               ///< stored bytes read, in 10^6 a second
  double first_batch_ms = 0;         ///< median of the rounds
  double stall_percent = 0;          ///< share of the measured time that the consumer spent in next()
  double peak_memory_mb = 0;         ///< 10^6; without what the plain loop holds
  double resident_share = 0;         ///< of the dataset's pages, before the first round
  std::optional<Spread> efficiency;  ///< loader window / loop window, pair by pair
  double loop_samples_per_s = 0;     ///< median of the plain loop; 0 when it was not run
  std::optional<std::uint64_t> digest;
  unsigned rounds = 0;
  std::uint64_t samples = 0;
  double seconds = 0;
  std::vector<StageStats> stages;                                            ///< sums over the rounds
  std::vector<std::pair<std::string, std::chrono::nanoseconds>> waited_for;  ///< sums over the rounds
  std::string notes;
  std::string device, staging;     ///< as Stats has them; empty: batches stay on the host
  double copied_mb = 0;            ///< 10^6 bytes, to the device, over the rounds
  double copy_gb_per_s = 0;        ///< 10^9 bytes a second, while copies ran
  double plain_copy_gb_per_s = 0;  ///< median of a plain loop of copies of a batch's bytes
  bool warm() const { return resident_share >= 0.9; }
};

/// What bounds a row with a consumer, in samples/s: the consumer with an instant loader, the loader without a consumer.
struct Limits {
  double consumer_alone = 0, loader_alone = 0;
};

struct SweepResult {
  std::vector<BenchRow> rows;    ///< subjects of one task together, in order of first appearance; fastest first
  std::optional<Limits> limits;  ///< of the first row, when there is a consumer
};

/// Every round measures every setting of every subject once.
/// Throws Error: invalid_argument, for an empty list, a zero, or mock_loader without a consumer; what loaders throw.
SweepResult sweep(std::span<const Subject> subjects, const SweepOptions& options);

/// Sums of a setting's rounds.
class RowRecord {
 public:
  RowRecord(std::size_t subject, const Setting& setting) {
    row_.subject = subject;
    row_.setting = setting;
  }
  void add(const Trial& trial, double loop_samples_per_s, std::uint64_t loop_bytes);
  BenchRow row() const;

 private:
  BenchRow row_;
  std::vector<double> rates_, first_batches_, loops_, ratios_, plain_copies_;
  std::uint64_t copied_bytes_ = 0;
  std::chrono::nanoseconds copying_{};
  std::uint64_t bytes_read_ = 0;
  std::chrono::nanoseconds waited_{}, busy_{};
};

}  // namespace penstock
