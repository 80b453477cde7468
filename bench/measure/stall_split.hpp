// Finds the causes of a training step's waits by removing one at a time: storage, then the cores' work too.
//
// Source: Mohan, Phanishayee, Raniwala, Chidambaram, "Analyzing and Mitigating Data Stalls in DNN Training", VLDB 2021,
// section 3: the three runs of DS-Analyzer, and the differences between them.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <bench/measure/trial.hpp>

namespace penstock {

/// Seconds per step in three runs: with a loader that takes no time, with the dataset's pages in memory, and after they
/// were dropped.
struct StallSplit {
  double instant = 0, cached = 0;
  std::optional<double> cold;  ///< nothing if the pages could not be dropped
  /// share of the dataset's pages in memory before the cached run; the smallest over the rounds
  double cached_share = 0;
  double cold_share = 0;  ///< share of them still in memory before the cold run; the largest over the rounds
  std::string cached_engine, cold_engine;
  unsigned rounds = 0;
  std::string notes;  ///< steps that failed, and the effect on the numbers; empty: none

  double compute() const { return instant; }
  double prep_stall() const;   ///< cost of the cores' work: cached - instant
  double fetch_stall() const;  ///< additional cost of storage: cold - cached; 0 if cold is unknown
  double step() const { return compute() + prep_stall() + fetch_stall(); }
};

/// Runs the three measurements in turns, `rounds` times, each for `window`; returns the medians. If the dataset takes
/// long to read again, the cold runs come last. Cold windows end with their epoch, as in run_trial(). Throws Error:
/// invalid_argument, for options without a consumer, or with a cache, because later epochs read nothing; errors of
/// run_trial().
StallSplit stall_split(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options,
                       std::chrono::nanoseconds window, unsigned rounds,
                       const std::function<void()>& measured = {});  ///< called after each window

}  // namespace penstock
