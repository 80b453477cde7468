#include <algorithm>
#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/bench/measure/check.hpp>

namespace penstock {
namespace {

constexpr std::size_t kAdvised = 3;

std::chrono::nanoseconds time_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

/// A setting, and how it is asked for.
struct Wanted {
  std::string name;
  Setting setting;
  TrialOptions trial;
  LoaderOptions options;
};

// What differs from the base.
std::string name_of(const Setting& setting, const Setting& base) {
  std::string name;
  const auto knob = [&](const char* what, unsigned value, unsigned before) {
    if (value != before) name += (name.empty() ? "" : ", ") + std::string(what) + "=" + std::to_string(value);
  };
  knob("workers", setting.workers, base.workers);
  knob("prefetch", setting.prefetch, base.prefetch);
  knob("batch_size", setting.batch_size, base.batch_size);
  return name.empty() ? "as measured" : name;
}

std::vector<Wanted> advised(const Forecast& forecast, const TrialOptions& trial) {
  std::vector<Wanted> wanted;
  for (const Gain& gain : gains_of(forecast)) {
    if (wanted.size() == kAdvised) break;
    const LoaderOptions& options = gain.options;
    TrialOptions changed = trial;
    changed.engine = gain.knob == "engine" ? options.engine : trial.engine;
    changed.cache = options.cache;
    wanted.push_back({.name = gain.knob + "=" + gain.value,
                      .setting = {options.workers, options.prefetch, options.batch_size},
                      .trial = std::move(changed),
                      .options = options});
  }
  return wanted;
}

}  // namespace

CheckResult check(const Subject& subject, const CheckOptions& options) {
  if (options.rounds == 0 || !(options.seconds > 0))
    throw Error::invalid_argument("a check needs at least one round, and time for it");
  CheckResult result;
  result.base = options.base;
  result.machine = calibrated(subject, options.base.batch_size, options.trial);
  const double window = options.seconds / options.rounds;
  std::uint64_t done = 0, total = 0;
  unsigned round = 0;
  const auto run = [&](const Setting& setting, TrialOptions trial) {
    trial.seed += round;  // other samples first, else every window has the same ones
    Trial measured = run_trial(subject.dataset, subject.task, setting, trial, time_of(window));
    if (options.progress) options.progress(++done, std::max(total, done));
    return measured;
  };
  const auto forecast_from = [&](const Stats& stats) {
    Forecast forecast = forecast_of(subject.task, options.base, options.trial, stats, result.machine);
    if (!forecast.known())
      throw Error::invalid_argument("the run was too short to predict anything: give it more seconds",
                                    {.dataset = subject.dataset.path().string()});
    return forecast;
  };

  std::vector<Wanted> wanted;
  for (const Setting& setting : options.settings)
    wanted.push_back({.name = name_of(setting, options.base),
                      .setting = setting,
                      .trial = options.trial,
                      .options = loader_options(subject.task, setting, options.trial)});
  if (wanted.empty()) wanted = advised(forecast_from(run(options.base, options.trial).stats), options.trial);
  total = done + std::uint64_t{options.rounds} * (wanted.size() + 1);

  Stats recorded;
  std::vector<double> of_base;
  std::vector<std::vector<double>> rates(wanted.size());
  for (; round < options.rounds; ++round) {
    const Trial base = run(options.base, options.trial);
    add(recorded, base.stats);
    of_base.push_back(base.samples_per_s());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      rates[i].push_back(run(wanted[i].setting, wanted[i].trial).samples_per_s());
  }
  const Forecast forecast = forecast_from(recorded);
  result.measured = spread_of(of_base);
  result.gains = gains_of(forecast);
  const double steady = result.measured.median / forecast.demands().samples_per_s;  // of its median round
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    LoaderOptions there = wanted[i].options;
    if (wanted[i].trial.engine == options.trial.engine) there.engine = forecast.options().engine;
    const Outlook outlook = forecast.outlook(there);
    result.rows.push_back({.name = wanted[i].name,
                           .setting = wanted[i].setting,
                           .predicted = outlook.samples_per_s * steady,
                           .measured = spread_of(rates[i]),
                           .limit = outlook.limit});
  }
  return result;
}

}  // namespace penstock
