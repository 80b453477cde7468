// Says what other settings, or another machine, would bring, from what a row measured.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bench/measure/ceiling.hpp>
#include <bench/measure/sweep.hpp>
#include <bench/tryout/blocks.hpp>
#include <bench/tryout/packings.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <penstock/gains.hpp>

namespace penstock {

/// Measures how fast a core is while all compute, by a plain loop over the dataset's samples, which it holds.
class Calibration {
 public:
  /// Throws what reading the samples throws.
  Calibration(const Subject& subject, std::uint32_t batch_size, const TrialOptions& trial);
  /// Another pair of loops, on one core and on all of them: about a third of a second. Throws what a codec or transform
  /// throws.
  void run();
  MachineModel machine() const;  ///< the median of the pairs; cores as fast as alone without any

 private:
  const unsigned cores_;
  const std::uint32_t batch_size_;
  std::unique_ptr<Ceiling> loop_;  // null on a single core
  std::vector<double> ratios_;
};

/// Of three pairs. About a second.
MachineModel calibrated(const Subject& subject, std::uint32_t batch_size, const TrialOptions& trial);

/// From what was measured with that setting. `machine`: as calibrated. `pixels`: what a cache of decoded images keeps,
/// where that was tried.
Forecast forecast_of(const Subject& subject, const Setting& setting, const TrialOptions& trial, const Stats& stats,
                     const MachineModel& machine, const std::optional<CacheDemand>& pixels = {});

/// What was tried on some samples in memory.
struct Tryouts {
  std::optional<CacheDemand> pixels;    ///< of a cache of decoded images
  std::vector<PackingTryout> packings;  ///< of JPEG files
  std::optional<BlockTryout> blocks;    ///< of filtered blocks that samples share
};

/// Packings and caches are not tried where decoding and transforming in no time would bring less than a tenth. Takes
/// some seconds; throws what chains throw, and Error: resource, "interrupted".
Tryouts tried(const Subject& subject, const Forecast& forecast, const TrialOptions& trial, const Stats& stats);

/// What a packing would bring.
Gain gain_of(const PackingTryout& packing, const Forecast& forecast);

/// Knobs that might help and of which nothing can be told, with the reason. `resident`: the share of the dataset's
/// pages in memory.
std::vector<std::string> untold(const Subject& subject, const Forecast& forecast, const TrialOptions& trial,
                                double resident);

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
  std::string base = {};    ///< what gains are beside: "workers=2, prefetch=2: 1234.5 samples/s"
  /// On the other machine, with as many workers as it has cores.
  struct Elsewhere {
    std::string machine;  ///< OtherMachine::name()
    unsigned workers = 0;
    Outlook outlook;
  };
  std::optional<Elsewhere> elsewhere;
  std::vector<std::string> untold = {};  ///< "direct_io: cannot tell: ..."
};

/// Gains of the model, and of what was tried.
std::vector<Gain> gains_of(const Forecast& forecast, const Tryouts& tryouts);

Advice advise(const Forecast& forecast, const std::optional<OtherMachine>& other, const Tryouts& tryouts = {});

/// "gains:", a line for each of the first five, what cannot be told, and the other machine's; empty where nothing is
/// known.
std::string to_text(const Advice& advice);

}  // namespace penstock
