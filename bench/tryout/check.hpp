// Predicts the rates of other settings from a run of one setting, runs them, and compares both.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <bench/measure/sweep.hpp>
#include <bench/tryout/advice.hpp>
#include <loader/model/demands.hpp>

namespace penstock {

struct CheckOptions {
  Setting base = {};
  /// settings to predict and measure; empty: those that gains_of() advises, at most three
  std::vector<Setting> settings = {};
  double seconds = 5;  ///< measured for each setting, over all rounds
  unsigned rounds = 5;
  TrialOptions trial = {};
  std::function<void(std::uint64_t, std::uint64_t)> progress = {};  ///< called after every window with (done, in all)
};

struct CheckRow {
  std::string name;  ///< "workers=4", "workers=4, prefetch=8"
  Setting setting;
  double predicted = 0;    ///< samples/s
  Spread measured = {};    ///< samples/s
  std::string limit = {};  ///< predicted bottleneck
  std::string note = {};   ///< for a format: the samples of both measurements
  double error() const { return measured.median > 0 ? predicted / measured.median - 1 : 0; }
};

struct CheckResult {
  Setting base;
  Spread measured;  ///< samples/s, of `base`
  MachineModel machine;
  std::vector<Gain> gains;     ///< all gains over `base`
  std::vector<CheckRow> rows;  ///< in the requested or advised order
  /// unpredictable settings, and those that were advised and not run, with the reason
  std::vector<std::string> notes = {};
};

/// Every round runs the base and all settings once. Predictions use only the rounds of the base. The best advised
/// format is run too: some samples are packed in the current and in that format into a temporary folder, and both are
/// loaded in each round. The prediction is their ratio.
/// Throws Error: invalid_argument, if a run is too short for a prediction; errors of loaders.
CheckResult check(const Subject& subject, const CheckOptions& options);

}  // namespace penstock
