// Predicts what other settings would give from a run of one, runs them, and puts both side by side.
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
  std::vector<Setting> settings = {};  ///< to predict and measure; empty: what gains_of() advises, three at most
  double seconds = 5;                  ///< measured for each setting, over all rounds
  unsigned rounds = 5;
  TrialOptions trial = {};
  std::function<void(std::uint64_t, std::uint64_t)> progress = {};  ///< after every window: (done, in all)
};

struct CheckRow {
  std::string name;  ///< "workers=4", "workers=4, prefetch=8"
  Setting setting;
  double predicted = 0;    ///< samples/s
  Spread measured = {};    ///< samples/s
  std::string limit = {};  ///< what was predicted to bind
  std::string note = {};   ///< of a packing: on which samples both are
  double error() const { return measured.median > 0 ? predicted / measured.median - 1 : 0; }
};

struct CheckResult {
  Setting base;
  Spread measured;  ///< samples/s, of `base`
  MachineModel machine;
  std::vector<Gain> gains;              ///< of `base`, all of them
  std::vector<CheckRow> rows;           ///< in the order asked for, or advised
  std::vector<std::string> notes = {};  ///< what cannot be told, and what was advised and not run, with the reason
};

/// Every round runs the base and all settings once; predictions follow from the rounds of the base alone. Of packings
/// that are advised, the best is run too: some samples are packed as they are and so, into a temporary folder, and both
/// are loaded in each round; what is predicted is their ratio.
/// Throws Error: invalid_argument, where a run is too short to tell anything; what loaders throw.
CheckResult check(const Subject& subject, const CheckOptions& options);

}  // namespace penstock
