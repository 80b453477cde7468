// Predicts the effect of other options or of another machine.
#pragma once

#include <string>
#include <vector>

#include <loader/model/demands.hpp>
#include <loader/model/simulation.hpp>
#include <penstock/gains.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// The predicted rate of a loader, and its bottleneck.
struct Outlook {
  double samples_per_s = 0;
  std::string limit;  ///< "the consumer", "the cores", "storage bandwidth at 1.10 GB/s"; empty: no single one
};

/// Predicts the rate with `wanted` on `there`: the measured rate times the ratio of two simulations, of `wanted` on
/// `there` and of `options` on `machine`. Effects that the model omits thus count in both. Without demands nothing is
/// known and all values are zero.
class Forecast {
 public:
  /// `demands` were recorded with `options` on `machine`.
  Forecast(Demands demands, const MachineModel& machine, LoaderOptions options);

  bool known() const { return base_ > 0; }
  const LoaderOptions& options() const { return options_; }
  /// Samples/s with other options.
  double rate(const LoaderOptions& wanted) const { return rate_of(demands_for(wanted), machine_, wanted); }
  Outlook outlook(const LoaderOptions& wanted) const { return outlook_of(demands_for(wanted), machine_, wanted); }
  /// The outlook on another machine, with other storage or another consumer: `there` replaces the recorded demands.
  Outlook elsewhere(const Demands& there, const MachineModel& machine, const LoaderOptions& wanted) const {
    return outlook_of(there, machine, wanted);
  }
  const Demands& demands() const { return demands_; }
  const MachineModel& machine() const { return machine_; }

 private:
  Demands demands_for(const LoaderOptions& wanted) const;
  double rate_of(const Demands& demands, const MachineModel& machine, const LoaderOptions& wanted) const;
  Outlook outlook_of(const Demands& demands, const MachineModel& machine, const LoaderOptions& wanted) const;

  Demands demands_;
  MachineModel machine_;
  LoaderOptions options_;
  double base_ = 0;  // simulated samples/s with `options_` on `machine_`
};

/// Returns the options worth changing, the best first. For each option, it selects the cheapest value within 2 % of
/// the best if the gain is at least 3 %. Empty if there is none, or if nothing is known. Takes tens of milliseconds.
std::vector<Gain> gains_of(const Forecast& forecast);

}  // namespace penstock
