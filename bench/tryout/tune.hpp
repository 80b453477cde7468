// Finds the best setting of a sweep without running all of it.
#pragma once

#include <string>
#include <vector>

#include <bench/measure/sweep.hpp>

namespace penstock {

struct TuneOptions {
  std::vector<unsigned>
      workers;  ///< candidates in any order; empty: 1, 2, 4, ... up to the usable cores, and 1.5 times that
  std::vector<unsigned> prefetch;  ///< empty: 1, 2, 4, 8
  std::vector<std::uint32_t> batch_sizes = {64};
  double seconds = 2;       ///< measured for each setting that is tried
  double tolerance = 0.02;  ///< among settings this close, the cheaper one wins
  TrialOptions trial = {};
  std::function<void(const BenchRow&)> tried;  ///< called for each setting that was run
};

struct TuneResult {
  BenchRow best;
  std::vector<BenchRow> tried;    ///< all settings that were run, fastest first
  std::vector<double> predicted;  ///< predicted samples/s of each of them
  std::uint64_t settings = 0;     ///< number of settings that the whole sweep would have run
  std::string reason;             ///< why more would not help: the diagnosis of the best row
  std::string cpp_line, python_line;
};

/// Runs one setting, with as many workers as cores, for half of the time. A model of the pipeline (loader/model) then
/// predicts all others. Then runs a quarter of the settings, at least three, in interleaved rounds. They include the
/// first one, the predicted fastest, and the cheapest (fewest workers, then least prefetch) that is predicted within
/// the tolerance of the fastest. Returns the cheapest within the tolerance of the fastest measured one. Throws errors
/// of sweep().
TuneResult tune(const Subject& subject, const TuneOptions& options);

}  // namespace penstock
