// Says what other settings, or another machine, would bring, from what a row measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/bench/measure/sweep.hpp>
#include <penstock/loader/model/gains.hpp>

namespace penstock {

/// How fast a core is while all compute, as a plain loop over the dataset's samples shows. About a second; throws what
/// a codec or transform throws.
MachineModel calibrated(const Subject& subject, std::uint32_t batch_size, const TrialOptions& trial);

/// From what was measured with that setting. `machine`: as calibrated.
Forecast forecast_of(const Task& task, const Setting& setting, const TrialOptions& trial, const Stats& stats,
                     const MachineModel& machine);

/// A machine to predict for; what is not given is as measured.
struct OtherMachine {
  std::optional<unsigned> cores;
  std::optional<double> bytes_per_s;  ///< that storage gives
  std::optional<double> step;         ///< seconds of the consumer for a batch

  /// "cores=32,disk=3GB/s,step=40ms", each of them or not; of sizes KB, MB, GB and TB count in 1,000s, with "/s" or
  /// without; a step in us, ms or s. Throws Error: invalid_argument, naming the part.
  static OtherMachine parse(std::string_view text);
  std::string name() const;  ///< "32 cores, storage of 3.00 GB/s, a step of 40.0 ms"
};

struct Advice {
  std::vector<Gain> gains;  ///< the most worth first; empty: nothing is worth turning, or nothing is known
  bool known = false;       ///< whether enough was recorded to predict anything
  /// On the other machine, with as many workers as it has cores.
  struct Elsewhere {
    std::string machine;  ///< OtherMachine::name()
    unsigned workers = 0;
    Outlook outlook;
  };
  std::optional<Elsewhere> elsewhere;
};

Advice advise(const Forecast& forecast, const std::optional<OtherMachine>& other);

/// "gains:", a line for each of the first five, and the other machine's; empty where nothing is known.
std::string to_text(const Advice& advice);

}  // namespace penstock
