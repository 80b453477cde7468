// The content of `penstock top`: the loaders of a machine and how busy the machine is, as text and as JSON.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bench/watch/loaders.hpp>
#include <bench/watch/node.hpp>
#include <device/cuda/nvml.hpp>

namespace penstock {

/// A snapshot of the loaders and the machine.
struct Look {
  std::chrono::steady_clock::time_point at{};
  Watched watched;
  NodeCount node;
  std::vector<GpuUse> gpus;
};
Look look_around(const WatchOptions& options);

/// A loader between two looks.
struct LoaderUse {
  const WatchedLoader* loader = nullptr;
  std::string_view
      state;         ///< "starting", "running", "waiting" (inside next()), "idle" (outside), "stopped" (the process)
  double for_s = 0;  ///< how long it has waited, or been idle
  /// Rates since the previous look. If nothing was published since, those of the whole run. 0 if the loader is idle,
  /// waits or is stopped.
  double samples_per_s = 0, stored_per_s = 0;
  double data_wait = 0;  ///< share, 0 to 1, of time in which the training loop waited, over the same time as the rates
  struct Stage {
    StageKind kind{};
    double busy = 0;       ///< share of its threads' time
    double data_wait = 0;  ///< share of the training loop's time in which it waited for this stage
  };
  std::vector<Stage> stages;
  std::vector<std::pair<std::string_view, double>> step;  ///< step_shares(), over the same time as the rates
};
std::vector<LoaderUse> uses_between(const Look& before, const Look& after);

/// Lines of at most `width` characters; 0: no limit.
std::string top_text(const Look& before, const Look& after, std::size_t width = 0);
std::string top_json(const Look& before, const Look& after);

}  // namespace penstock
