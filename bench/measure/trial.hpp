// Runs one new loader for a short time. Sweeps and tuning consist of such trials.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include <bench/measure/consumer.hpp>
#include <bench/measure/task.hpp>
#include <penstock/dataset.hpp>
#include <penstock/options.hpp>
#include <penstock/stats.hpp>
#include <penstock/trace.hpp>

namespace penstock {

/// The values that a sweep varies.
struct Setting {
  unsigned workers = 1;
  unsigned prefetch = 2;
  std::uint32_t batch_size = 64;
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// The values that stay the same in a sweep.
struct TrialOptions {
  LoaderOptions loader = {};  ///< without the options of a Setting and a Task, which loader_options() adds
  Consumer consumer = {};
  /// Drops the dataset's pages first. The pages that an epoch reads are warm afterwards, so a window ends with its
  /// epoch.
  bool cold = false;
  std::filesystem::path trace;     ///< file for a trace of the measured batches; empty: none
  EngineFactory make_engine = {};  ///< for custom storage; empty: the loader's own engines
  /// called between batches; if it returns false, the trial ends with Error: resource, "interrupted"
  std::function<bool()> keep_going;
};

struct Trial {
  Stats stats;             ///< of the measured batches only, without those that fill the pipeline
  double seconds = 0;      ///< duration of the measured batches
  double first_batch = 0;  ///< seconds from the start of the loader's construction to the first batch
  std::uint64_t peak_memory_bytes = 0;
  double resident_share = 0;            ///< share of the dataset's pages, before the loader was created
  std::optional<std::uint64_t> digest;  ///< for a whole epoch
  std::optional<TraceSummary> trace;    ///< if one was recorded
  /// bytes per second of a plain loop of copies to the device; 0 without a device
  double plain_copies = 0;
  double samples_per_s() const { return seconds > 0 ? static_cast<double>(stats.samples) / seconds : 0; }
};

/// Copies a dataset from a store into the disk cache of `options.loader`, as far as there is room, so that trials
/// measure later epochs. Does nothing without such a cache, with `cold`, and for a dataset on a disk. `progress` is
/// called with bytes; if it returns false, throws Error: resource, "interrupted". Throws errors of reading.
void fill_disk_cache(const Dataset& dataset, const TrialOptions& options,
                     const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress);

/// The loader's options for a setting.
LoaderOptions loader_options(const Task& task, const Setting& setting, const TrialOptions& options);

/// Runs epochs until `duration` of measured time has passed. With `cold`, ends at the epoch's end at the latest, and
/// the stats' notes say so. Throws errors of the loader.
Trial run_trial(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options,
                std::chrono::nanoseconds duration);
/// Runs only the consumer, as if batches were always ready.
Trial run_consumer_alone(const Setting& setting, const TrialOptions& options, std::chrono::nanoseconds duration);
/// Exactly one epoch, measured from the first batch on, with its digest.
Trial run_epoch(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options);

}  // namespace penstock
