// Finds the best setting of a sweep without running all of it.
#pragma once

#include <string>
#include <vector>

#include <penstock/bench/measure/sweep.hpp>

namespace penstock {

struct TuneOptions {
  std::vector<unsigned>
      workers;  ///< to choose from, in any order; empty: 1, 2, 4, ... up to the usable cores, and half more
  std::vector<unsigned> prefetch;  ///< empty: 1, 2, 4, 8
  std::vector<std::uint32_t> batch_sizes = {64};
  double seconds = 2;       ///< measured for each setting that is tried
  double tolerance = 0.02;  ///< of two settings this close the cheaper one is taken
  TrialOptions trial = {};
  std::function<void(const BenchRow&)> tried;  ///< called after each setting of the search
};

struct TuneResult {
  BenchRow best;
  std::vector<BenchRow> tried;  ///< all that were run, fastest first
  std::uint64_t settings = 0;   ///< that the whole sweep would have run
  std::string reason;           ///< why more would not help: names the bottleneck stage
  std::string cpp_line, python_line;
};

/// Climbs in workers at prefetch 2 until another step gains less than the tolerance, then climbs in prefetch, for each
/// batch size; the last candidates are then measured again in interleaved rounds, and the cheapest (fewest workers,
/// then least prefetch) within the tolerance of the fastest is taken. Throws what sweep() throws.
TuneResult tune(const Subject& subject, const TuneOptions& options);

}  // namespace penstock
