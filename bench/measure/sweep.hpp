// Measures many settings in turns, so that other load on the machine affects all of them alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <bench/measure/spread.hpp>
#include <bench/measure/stall_split.hpp>
#include <bench/measure/trial.hpp>
#include <penstock/stats.hpp>

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
  bool stall_split = false;  ///< of the fastest row of each task; needs a consumer
  TrialOptions trial = {};   ///< without its trace
  /// A window more, of the fastest row, is recorded and goes there; empty: none.
  std::filesystem::path trace;
  /// Called after every window with (windows done, windows in all).
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

struct BenchRow {
  std::size_t subject = 0;  ///< position of what was measured in the list given to sweep()
  Setting setting;
  std::string engine, engine_reason;
  Spread samples_per_s;
  double mb_per_s = 0;               ///< stored bytes read for the samples counted, in 10^6 a second
  double first_batch_ms = 0;         ///< median of the rounds
  double data_wait_ms = 0;           ///< inside next(), for each sample
  double step_ms = 0;                ///< between two of them, for each sample
  bool pinned = false;               ///< batches lie in page-locked memory of the host
  double data_wait_percent = 0;      ///< share of the measured time that the consumer spent in next()
  double peak_memory_mb = 0;         ///< 10^6; without what the plain loop holds
  double resident_share = 0;         ///< of the dataset's pages, before the first round
  std::optional<Spread> efficiency;  ///< loader window / loop window, pair by pair
  double loop_samples_per_s = 0;     ///< median of the plain loop; 0 when it was not run
  std::optional<std::uint64_t> digest;
  unsigned rounds = 0;
  std::uint64_t samples = 0;
  double seconds = 0;
  Stats stats;      ///< sums over the rounds
  Verdict verdict;  ///< what binds; of no loader: unknown
  std::string notes;
  std::string device, staging;     ///< as Stats has them; empty: batches stay on the host
  double copied_mb = 0;            ///< 10^6 bytes, to the device, over the rounds
  double copy_gb_per_s = 0;        ///< 10^9 bytes a second, while copies ran
  double plain_copy_gb_per_s = 0;  ///< median of a plain loop of copies of a batch's bytes
  /// Of the accelerator that the consumer stands for, 0 to 1; nothing for other consumers and of whole epochs
  /// (digests).
  std::optional<double> accelerator_utilisation;
  std::optional<StallSplit> stall_split;
  bool warm() const { return resident_share >= 0.9; }
};

/// What bounds a row with a consumer, in samples/s: the consumer with an instant loader, the loader without a consumer.
struct Limits {
  double consumer_alone = 0, loader_alone = 0;
};

struct SweepResult {
  std::vector<BenchRow> rows;  ///< subjects of one task together, in order of first appearance; fastest first
  /// That the consumer stands for: null where it takes a time of one's own.
  const EmulatedAccelerator* accelerator = nullptr;
  std::optional<Limits> limits;  ///< of the first row, when there is a consumer
  std::optional<TraceSummary> trace;
};

/// Every round measures every setting of every subject once.
/// Throws Error: invalid_argument, for an empty list, a zero, mock_loader or stall_split without a consumer, or both,
/// or mock_loader with a trace; io, before anything is measured, where the trace's file cannot be made; what loaders
/// throw.
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
};

}  // namespace penstock
