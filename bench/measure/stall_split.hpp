// Tells what a training step waits for, by taking one cause away at a time: storage, then the cores' work too.
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

/// Seconds of a step, measured in three runs: with a loader that takes no time, with the dataset's pages in memory, and
/// after they were dropped.
struct StallSplit {
  double instant = 0, cached = 0;
  std::optional<double> cold;  ///< nothing where the pages could not be dropped
  double cached_share = 0;     ///< of the dataset's pages, in memory before the cached run; the smallest of the rounds
  double cold_share = 0;       ///< of them, still in memory before the cold run; the largest of the rounds
  std::string cached_engine, cold_engine;
  unsigned rounds = 0;
  std::string notes;  ///< what could not be done, and what that means for the figures; empty: all was

  double compute() const { return instant; }
  double prep_stall() const;   ///< what the cores cost: cached less instant
  double fetch_stall() const;  ///< what storage costs on top: cold less cached; 0 where cold is unknown
  double step() const { return compute() + prep_stall() + fetch_stall(); }
};

/// The three runs in turns, `rounds` times, each `window` long; the medians. Of a dataset that takes long to read again
/// the cold runs come last. Cold windows end with their epoch, as those of run_trial() do. Throws Error:
/// invalid_argument, for options without a consumer, or with a cache, whose later epochs read nothing; what run_trial()
/// throws.
StallSplit stall_split(const Dataset& dataset, const Task& task, const Setting& setting, const TrialOptions& options,
                       std::chrono::nanoseconds window, unsigned rounds,
                       const std::function<void()>& measured = {});  ///< called after each window

}  // namespace penstock
