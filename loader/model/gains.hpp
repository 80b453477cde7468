// Says what other options, or another machine, would bring.
#pragma once

#include <string>
#include <vector>

#include <loader/model/demands.hpp>
#include <loader/model/simulation.hpp>
#include <penstock/gains.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// What a loader would give, and what would bind it.
struct Outlook {
  double samples_per_s = 0;
  std::string limit;  ///< "the consumer", "the cores", "storage bandwidth at 1.10 GB/s"; empty: nothing alone
};

/// `measured` times what the simulation of `wanted` on `there` gives beside that of `options` on `machine`, so that
/// what the model leaves out counts for both. Nothing is known where there are no demands: all zero.
class Forecast {
 public:
  /// Of `demands`, which were recorded with `options` on `machine`.
  Forecast(Demands demands, const MachineModel& machine, LoaderOptions options);

  bool known() const { return base_ > 0; }
  const LoaderOptions& options() const { return options_; }
  /// Samples/s with other options.
  double rate(const LoaderOptions& wanted) const { return rate_of(demands_for(wanted), machine_, wanted); }
  Outlook outlook(const LoaderOptions& wanted) const { return outlook_of(demands_for(wanted), machine_, wanted); }
  /// On another machine, with other storage or another consumer: those of `there` in place of the recorded ones.
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
  double base_ = 0;  // simulated samples/s, with `options_` on `machine_`
};

/// What is worth turning, the most worth first: each knob's cheapest value within 2 % of its best, where that brings
/// 3 % and more. Empty: nothing is, or nothing is known. Takes tens of milliseconds.
std::vector<Gain> gains_of(const Forecast& forecast);

}  // namespace penstock
