// Measures many settings in turns, so that other load on the machine affects all of them equally.
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

/// A dataset, and the task for its samples.
struct Subject {
  Dataset dataset;
  Task task;
};

struct SweepOptions {
  std::vector<Setting> settings;  ///< settings to measure; empty: all combinations of the next three lists
  std::vector<unsigned> workers;  ///< empty: usable cores
  std::vector<unsigned> prefetch = {2};
  std::vector<std::uint32_t> batch_sizes = {64};
  double seconds = 5;        ///< measured for each setting, over all rounds
  unsigned rounds = 0;       ///< 0: one for each half second, at least 3
  bool efficiency = true;    ///< pairs every window with one of the plain loop
  bool digest = false;       ///< exactly one epoch per setting, hashed; no efficiency
  bool limits = true;        ///< with a consumer, also measures the consumer and the loader separately
  bool mock_loader = false;  ///< only the consumer, with a loader that takes no time
  bool stall_split = false;  ///< for the fastest row of each task; requires a consumer
  TrialOptions trial = {};   ///< its `trace` is not used
  /// File for a trace of one more window with the fastest row; empty: none.
  std::filesystem::path trace;
  /// Called after every window with (windows done, windows in all).
  std::function<void(std::uint64_t, std::uint64_t)> progress;
};

struct BenchRow {
  std::size_t subject = 0;  ///< position of the subject in the list given to sweep()
  Setting setting;
  std::string engine, engine_reason;
  Spread samples_per_s;
  double mb_per_s = 0;               ///< stored bytes read for the counted samples, in 10^6 per second
  double first_batch_ms = 0;         ///< median over the rounds
  double data_wait_ms = 0;           ///< inside next(), per sample
  double step_ms = 0;                ///< between two calls of next(), per sample
  bool pinned = false;               ///< whether batches are in page-locked host memory
  double data_wait_percent = 0;      ///< share of the measured time that the consumer spent in next()
  double peak_memory_mb = 0;         ///< 10^6 bytes; without the memory of the plain loop
  double resident_share = 0;         ///< share of the dataset's pages, before the first round
  std::optional<Spread> efficiency;  ///< loader window / loop window, pair by pair
  double loop_samples_per_s = 0;     ///< median of the plain loop; 0 if it was not run
  std::optional<std::uint64_t> digest;
  unsigned rounds = 0;
  std::uint64_t samples = 0;
  double seconds = 0;
  Stats stats;      ///< sums over the rounds
  Verdict verdict;  ///< the bottleneck; without a loader: unknown
  std::string notes;
  std::string device, staging;     ///< as in Stats; empty: batches stay on the host
  double copied_mb = 0;            ///< 10^6 bytes copied to the device, over the rounds
  double copy_gb_per_s = 0;        ///< 10^9 bytes per second during copies
  double plain_copy_gb_per_s = 0;  ///< median of a plain loop that copies a batch's bytes
  /// Utilisation of the accelerator that the consumer simulates, 0 to 1. Nothing for other consumers, and for whole
  /// epochs (digests).
  std::optional<double> accelerator_utilisation;
  std::optional<StallSplit> stall_split;
  bool warm() const { return resident_share >= 0.9; }
};

/// Limits of a row with a consumer, in samples/s: the consumer with an instant loader, and the loader without a
/// consumer.
struct Limits {
  double consumer_alone = 0, loader_alone = 0;
};

struct SweepResult {
  std::vector<BenchRow> rows;  ///< rows of one task together, tasks in order of first appearance; fastest first
  /// The accelerator that the consumer simulates; null for a custom time.
  const EmulatedAccelerator* accelerator = nullptr;
  std::optional<Limits> limits;  ///< for the first row, if there is a consumer
  std::optional<TraceSummary> trace;
};

/// Every round measures every setting of every subject once.
/// Throws Error: invalid_argument, for an empty list, a zero, mock_loader or stall_split without a consumer, both of
/// them, or mock_loader with a trace; io, if the trace file cannot be created, before anything is measured. Also throws
/// errors of loaders.
SweepResult sweep(std::span<const Subject> subjects, const SweepOptions& options);

/// Sums over the rounds of a setting.
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
