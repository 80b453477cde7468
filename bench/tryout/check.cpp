#include <algorithm>
#include <optional>
#include <utility>

#include <base/amounts.hpp>
#include <bench/measure/units.hpp>
#include <bench/tryout/check.hpp>
#include <bench/tryout/packed_subset.hpp>
#include <loader/model/gains.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kAdvised = 3;
constexpr unsigned kFirstLoops = 3;  // pairs of the calibration before the first advice
constexpr double kLongest = 20;      // maximum time of the epoch that fills a cache, as a multiple of a setting's time

std::chrono::nanoseconds time_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

/// A setting, and the changes that lead to it.
struct Wanted {
  std::string name;
  Setting setting;
  TrialOptions trial;
  LoaderOptions options;
  std::optional<PackingTryout> packing = {};
};

// The differences from the base.
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

/// Some samples, packed in the current and in another format.
struct PackedBoth {
  PackedBoth(const Subject& subject, const PackingTryout& packing, const TrialOptions& trial)
      : as_stored(packed_subset(subject.dataset, trial.loader.seed, {.keep_going = trial.keep_going}, {},
                                place.path() / "a")),
        made(packed_subset(subject.dataset, trial.loader.seed, {.keep_going = trial.keep_going}, packing.recoding,
                           place.path() / "b")) {}
  TemporaryPlace place;
  Dataset as_stored, made;
};

/// One check, and its runs round by round.
class Checking {
 public:
  Checking(const Subject& subject, const CheckOptions& options)
      : subject_(subject),
        options_(options),
        window_(time_of(options.seconds / options.rounds)),
        calibration_(subject, options.base.batch_size, options.trial) {
    result_.base = options.base;
  }

  CheckResult run() {
    for (const Setting& setting : options_.settings)
      wanted_.push_back({.name = name_of(setting, options_.base),
                         .setting = setting,
                         .trial = options_.trial,
                         .options = loader_options(subject_.task, setting, options_.trial)});
    if (wanted_.empty()) take_advice();
    total_ = done_ + std::uint64_t{options_.rounds} * (wanted_.size() + 1 + (packed_ ? 1 : 0));
    rates_.resize(wanted_.size());
    for (; round_ < options_.rounds; ++round_) run_round();
    result_.machine = calibration_.machine();
    const Forecast forecast = forecast_from(recorded_);
    result_.measured = spread_of(of_base_);
    result_.gains = gains_of(forecast, tryouts_);
    const double steady = result_.measured.median / forecast.demands().samples_per_s;  // ratio to its median round
    for (std::size_t i = 0; i < wanted_.size(); ++i) result_.rows.push_back(row_of(i, forecast, steady));
    return std::move(result_);
  }

 private:
  Trial run(const Dataset& dataset, const Setting& setting, TrialOptions trial) {
    trial.loader.seed += round_;  // begin with other samples, else all windows would measure the same ones
    Trial measured = run_trial(dataset, subject_.task, setting, trial, window_);
    ++done_;
    if (options_.progress) options_.progress(done_, std::max(total_, done_));
    return measured;
  }

  Forecast forecast_from(const Stats& stats) const {
    Forecast forecast = forecast_of(subject_, options_.base, options_.trial, stats, result_.machine, tryouts_.pixels);
    if (!forecast.known())
      throw Error::invalid_argument("the run was too short for a prediction; increase --seconds",
                                    {.dataset = subject_.dataset.path().string()});
    return forecast;
  }

  // Chooses the settings that gain most according to a first run.
  void take_advice() {
    for (unsigned i = 0; i < kFirstLoops; ++i) calibration_.run();
    result_.machine = calibration_.machine();
    const Trial first = run(subject_.dataset, options_.base, options_.trial);
    tryouts_ = tried(subject_, forecast_from(first.stats), options_.trial, first.stats, options_.seconds);
    const Forecast forecast = forecast_from(first.stats);
    result_.notes = untold(subject_, forecast, options_.trial, first.resident_share);
    for (const Gain& gain : gains_of(forecast, tryouts_)) {
      if (wanted_.size() == kAdvised) break;
      if (gain.knob == "pack") {
        want_packing(gain);
      } else if (const double fills = static_cast<double>(subject_.dataset.size()) / forecast.demands().samples_per_s;
                 gain.knob == "cache" && fills > kLongest * options_.seconds) {
        result_.notes.push_back("cache=" + gain.value + ": not run: the epoch that fills it takes about " +
                                time_text(fills) + " in each round");
      } else {
        TrialOptions changed = options_.trial;
        changed.loader.read_options.engine =
            gain.knob == "engine" ? gain.options.read_options.engine : options_.trial.loader.read_options.engine;
        changed.loader.cache.kind = gain.options.cache.kind;
        changed.loader.shuffle_block = gain.options.shuffle_block;
        wanted_.push_back({.name = gain.knob + "=" + gain.value,
                           .setting = {gain.options.workers, gain.options.prefetch, gain.options.batch_size},
                           .trial = std::move(changed),
                           .options = gain.options});
      }
    }
  }

  // Runs only the best format.
  void want_packing(const Gain& gain) {
    if (packed_) return;
    const auto tryout = std::ranges::find(tryouts_.packings, gain.value, &PackingTryout::options);
    packed_.emplace(subject_, *tryout, options_.trial);
    wanted_.push_back({.name = "pack " + gain.value,
                       .setting = options_.base,
                       .trial = options_.trial,
                       .options = gain.options,
                       .packing = *tryout});
  }

  void run_round() {
    calibration_.run();  // calibrates in turns with the runs, so that a slow moment of the machine affects it equally
    const Trial base = run(subject_.dataset, options_.base, options_.trial);
    add(recorded_, base.stats);
    of_base_.push_back(base.samples_per_s());
    if (packed_) of_subset_.push_back(run(packed_->as_stored, options_.base, options_.trial).samples_per_s());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const Dataset& dataset = wanted_[i].packing ? packed_->made : subject_.dataset;
      rates_[i].push_back(run(dataset, wanted_[i].setting, wanted_[i].trial).samples_per_s());
    }
  }

  CheckRow row_of(std::size_t number, const Forecast& forecast, double steady) const {
    const Wanted& wanted = wanted_[number];
    CheckRow row{.name = wanted.name, .setting = wanted.setting, .measured = spread_of(rates_[number])};
    if (wanted.packing) {
      const Gain gain = gain_of(*wanted.packing, forecast);
      const double as_stored = spread_of(of_subset_).median;
      row.predicted = gain.ratio * as_stored;
      row.limit = gain.limit;
      row.note = with_commas(packed_->made.size()) +
                 " samples, packed into a temporary folder; as they are stored, they give " + fixed(as_stored, 1) +
                 " samples/s";
      return row;
    }
    if (tryouts_.blocks && wanted.trial.loader.shuffle_block != options_.trial.loader.shuffle_block) {
      const Gain gain = gain_of(*tryouts_.blocks, forecast);
      row.predicted = gain.samples_per_s * steady;
      row.limit = gain.limit;
      return row;
    }
    LoaderOptions there = wanted.options;
    if (wanted.trial.loader.read_options.engine == options_.trial.loader.read_options.engine)
      there.read_options.engine = forecast.options().read_options.engine;
    const Outlook outlook = forecast.outlook(there);
    row.predicted = outlook.samples_per_s * steady;
    row.limit = outlook.limit;
    return row;
  }

  const Subject& subject_;
  const CheckOptions& options_;
  const std::chrono::nanoseconds window_;
  Calibration calibration_;
  CheckResult result_;
  Tryouts tryouts_;
  std::optional<PackedBoth> packed_;
  std::vector<Wanted> wanted_;
  Stats recorded_;
  std::vector<double> of_base_, of_subset_;
  std::vector<std::vector<double>> rates_;
  std::uint64_t done_ = 0, total_ = 0;
  unsigned round_ = 0;
};

}  // namespace

CheckResult check(const Subject& subject, const CheckOptions& options) {
  if (options.rounds == 0 || !(options.seconds > 0))
    throw Error::invalid_argument("a check requires at least one round and more than 0 seconds");
  return Checking(subject, options).run();
}

}  // namespace penstock
