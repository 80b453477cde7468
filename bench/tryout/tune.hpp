// Finds the best setting of a sweep without running all of it.
#pragma once

#include <string>
#include <vector>

#include <bench/measure/sweep.hpp>

namespace penstock {

struct TuneOptions {
  std::vector<unsigned>
      workers;  ///< to choose from, in any order; empty: 1, 2, 4, ... up to the usable cores, and half more
  std::vector<unsigned> prefetch;  ///< empty: 1, 2, 4, 8
  std::vector<std::uint32_t> batch_sizes = {64};
  double seconds = 2;       ///< measured for each setting that is tried
  double tolerance = 0.02;  ///< of two settings this close the cheaper one is taken
  TrialOptions trial = {};
  std::function<void(const BenchRow&)> tried;  ///< called for each that was run
};

struct TuneResult {
  BenchRow best;
  std::vector<BenchRow> tried;    ///< all that were run, fastest first
  std::vector<double> predicted;  ///< samples/s of each of them, by the model
  std::uint64_t settings = 0;     ///< that the whole sweep would have run
  std::string reason;             ///< why more would not help: the verdict on the best row
  std::string cpp_line, python_line;
};

/// Runs one setting, as many workers as cores, for half of the time, has a model of the pipeline predict all others
/// (loader/model), and runs a quarter of them, at least three, in interleaved rounds: that one, the cheapest (fewest
/// workers, then least prefetch) that is predicted to be within the tolerance of the fastest, and the fastest. The
/// cheapest within the tolerance of what was fastest then is taken. Throws what sweep() throws.
TuneResult tune(const Subject& subject, const TuneOptions& options);

}  // namespace penstock
