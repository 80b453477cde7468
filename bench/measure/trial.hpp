// Runs one new loader for a short time: sweeps and tuning are made of such trials.
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

/// What a sweep varies.
struct Setting {
  unsigned workers = 1;
  unsigned prefetch = 2;
  std::uint32_t batch_size = 64;
  friend bool operator==(const Setting&, const Setting&) = default;
};

/// What stays the same in a sweep.
struct TrialOptions {
  LoaderOptions loader = {};  ///< without those of a Setting and a Task, which loader_options() adds
  Consumer consumer = {};
  /// Drop the dataset's pages first. What one epoch has read is warm afterwards, so a window then ends with its epoch.
  bool cold = false;
  std::filesystem::path trace;       ///< a trace of the measured batches goes there; empty: none is recorded
  EngineFactory make_engine = {};    ///< for special storage; empty: the loader's own engines
  std::function<bool()> keep_going;  ///< asked between batches; false ends with Error: resource, "interrupted"
};

struct Trial {
  Stats stats;             ///< of the measured batches alone, without those that fill the pipeline first
  double seconds = 0;      ///< that they took
  double first_batch = 0;  ///< seconds from making the loader to the first batch
  std::uint64_t peak_memory_bytes = 0;
  double resident_share = 0;            ///< of the dataset's pages, before the loader was made
  std::optional<std::uint64_t> digest;  ///< of a whole epoch
  std::optional<TraceSummary> trace;    ///< where one was recorded
  double plain_copies = 0;              ///< bytes a second of a plain loop of copies to the device; 0 without one
  double samples_per_s() const { return seconds > 0 ? static_cast<double>(stats.samples) / seconds : 0; }
};

/// Brings a dataset that lies in a store into the disk cache of `options.loader`, as far as there is room, so that
/// trials are measured as later epochs are. Nothing without such a cache, with `cold`, and for a dataset on a disk.
/// `progress` is called with bytes; where it is false, Error: resource, "interrupted". Throws what reading throws.
void fill_disk_cache(const Dataset& dataset, const TrialOptions& options,
                     const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress);

/// The loader's options for a setting.
LoaderOptions loader_options(const Task& task, const Setting& setting, const TrialOptions& options);

/// Runs epoch after epoch until `duration` of measured time is over; with `cold`, to the epoch's end at most, and the
/// stats' notes say so. Throws what the loader throws.
Trial run_trial(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options,
                std::chrono::nanoseconds duration);
/// The consumer alone, as with a loader whose batches are always there.
Trial run_consumer_alone(const Setting& setting, const TrialOptions& options, std::chrono::nanoseconds duration);
/// Exactly one epoch, measured from the first batch on, with its digest.
Trial run_epoch(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options);

}  // namespace penstock
