// Predicts the effect of other settings, or of another machine, from the measurements of a row.
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

/// Measures how fast a core is while all cores compute, by a plain loop over the dataset's samples, which it holds.
class Calibration {
 public:
  /// Throws errors of reading the samples.
  Calibration(const Subject& subject, std::uint32_t batch_size, const TrialOptions& trial);
  /// Runs another pair of loops, on one core and on all cores. Takes about a third of a second. Throws errors of codecs
  /// and transforms.
  void run();
  MachineModel machine() const;  ///< median of the pairs; without pairs, all cores are assumed to run at full speed

 private:
  const unsigned cores_;
  const std::uint32_t batch_size_;
  std::unique_ptr<Ceiling> loop_;  // null on a single core
  std::vector<double> ratios_;
};

/// A model from three pairs. Takes about a second.
MachineModel calibrated(const Subject& subject, std::uint32_t batch_size, const TrialOptions& trial);

/// Builds a forecast from measurements with `setting`. `machine`: from calibrated(). `pixels`: the content of a cache
/// of decoded images, if that was tried.
Forecast forecast_of(const Subject& subject, const Setting& setting, const TrialOptions& trial, const Stats& stats,
                     const MachineModel& machine, const std::optional<CacheDemand>& pixels = {});

/// Results of trials on some samples in memory.
struct Tryouts {
  std::optional<CacheDemand> pixels;    ///< for a cache of decoded images
  std::vector<PackingTryout> packings;  ///< for JPEG files
  std::optional<BlockTryout> blocks;    ///< for compressed blocks that samples share
};

/// Skips formats and caches if decoding and transforming in no time would gain less than 10 %. Each step of a trial
/// takes at most `seconds`, and at most 2 s. Throws errors of chains, and Error: resource, "interrupted".
Tryouts tried(const Subject& subject, const Forecast& forecast, const TrialOptions& trial, const Stats& stats,
              double seconds);

/// Predicted gain of another format.
Gain gain_of(const PackingTryout& packing, const Forecast& forecast);

/// Settings that might help but cannot be predicted, with the reason. `resident`: the resident share of the dataset's
/// pages.
std::vector<std::string> untold(const Subject& subject, const Forecast& forecast, const TrialOptions& trial,
                                double resident);

/// A machine to predict for. Absent values are as measured.
struct OtherMachine {
  std::optional<unsigned> cores;
  std::optional<double> bytes_per_s;  ///< rate of the storage
  std::optional<double> step;         ///< seconds of the consumer per batch

  /// Parses "cores=32,disk=3GB/s,step=40ms"; each part is optional. KB, MB, GB and TB are powers of 1,000, with or
  /// without "/s". A step is in us, ms or s. Throws Error: invalid_argument, naming the part.
  static OtherMachine parse(std::string_view text);
  std::string name() const;  ///< "32 cores, storage of 3.00 GB/s, a step of 40.0 ms"
};

struct Advice {
  std::vector<Gain> gains;  ///< the largest first; empty: no gain is worthwhile, or nothing is known
  bool known = false;       ///< whether enough was recorded to predict anything
  std::string base = {};    ///< the baseline: "workers=2, prefetch=2: 1234.5 samples/s"
  /// Prediction for the other machine, with as many workers as it has cores.
  struct Elsewhere {
    std::string machine;  ///< OtherMachine::name()
    unsigned workers = 0;
    Outlook outlook;
  };
  std::optional<Elsewhere> elsewhere;
  std::vector<std::string> untold = {};  ///< "direct_io: no prediction: ..."
};

/// Gains by the model, and by the trials.
std::vector<Gain> gains_of(const Forecast& forecast, const Tryouts& tryouts);

Advice advise(const Forecast& forecast, const std::optional<OtherMachine>& other, const Tryouts& tryouts = {});

/// "predicted speed-ups ...:", a line for each of the first five, then unpredictable settings and the other machine's
/// gains. Empty if nothing is known.
std::string to_text(const Advice& advice);

}  // namespace penstock
