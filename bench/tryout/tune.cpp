#include <algorithm>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include <base/cores.hpp>
#include <bench/tryout/advice.hpp>
#include <bench/tryout/tune.hpp>
#include <device/device.hpp>
#include <formats/dataset.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/gains.hpp>
#include <penstock/error.hpp>
#include <penstock/open_options.hpp>

namespace penstock {
namespace {

std::vector<unsigned> default_workers() {
  const unsigned cores = usable_cores();
  std::vector<unsigned> counts;
  for (unsigned count = 1; count < cores; count *= 2) counts.push_back(count);
  counts.push_back(cores);
  counts.push_back(cores + (cores + 1) / 2);  // a worker that waits for a read leaves its core idle
  return counts;
}

std::vector<unsigned> ladder(std::vector<unsigned> values, std::vector<unsigned> otherwise) {
  if (values.empty()) values = std::move(otherwise);
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
  return values;
}

auto cost(const Setting& setting) {
  return std::tuple(setting.workers, setting.prefetch, setting.batch_size);
}

double rate(const BenchRow& row) {
  return row.samples_per_s.median;
}

class Search {
 public:
  Search(const Subject& subject, const TuneOptions& options)
      : subject_(subject),
        options_(options),
        settings_(all_of(ladder(options.workers, default_workers()), ladder(options.prefetch, {1, 2, 4, 8}),
                         options.batch_sizes)) {}

  TuneResult run() {
    const Setting base = settings_[base_number()];
    const Forecast forecast = forecast_from(base);
    std::vector<Setting> chosen = promising(forecast, base);
    chosen.push_back(base);
    TuneResult result;
    result.settings = settings_.size();
    result.tried = sweep_of(chosen, options_.seconds, 3);
    if (options_.tried)
      for (const BenchRow& row : result.tried) options_.tried(row);
    for (const BenchRow& row : result.tried)
      result.predicted.push_back(forecast.rate(loader_options(subject_.task, row.setting, as_run(forecast))));
    result.best = cheapest_of(result.tried);
    return result;
  }

 private:
  static std::vector<Setting> all_of(const std::vector<unsigned>& workers, const std::vector<unsigned>& prefetch,
                                     const std::vector<std::uint32_t>& batch_sizes) {
    if (workers.front() == 0 || prefetch.front() == 0 || batch_sizes.empty() || std::ranges::count(batch_sizes, 0U) > 0)
      throw Error::invalid_argument(
          "workers, prefetch and batch size must be at least 1, and each list must have a value");
    std::vector<Setting> settings;
    for (const std::uint32_t batch_size : batch_sizes)
      for (const unsigned depth : prefetch)
        for (const unsigned count : workers) settings.push_back({count, depth, batch_size});
    return settings;
  }

  // The setting with the first batch size, as many workers as cores and prefetch 2, or the nearest one below.
  std::size_t base_number() const {
    std::size_t best = 0;
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      const Setting &setting = settings_[i], &known = settings_[best];
      const bool fits = setting.workers <= usable_cores() && setting.prefetch <= 2;
      if (fits && setting.batch_size == known.batch_size && cost(setting) > cost(known)) best = i;
    }
    return best;
  }

  Forecast forecast_from(const Setting& base) const {
    const MachineModel machine = calibrated(subject_, base.batch_size, options_.trial);
    const BenchRow row = sweep_of({base}, options_.seconds / 2, 1).front();
    return forecast_of(subject_, base, options_.trial, row.stats, machine);
  }
  TrialOptions as_run(const Forecast& forecast) const {  // with the engine that "auto" has chosen
    TrialOptions trial = options_.trial;
    trial.loader.read_options.engine = forecast.options().read_options.engine;
    return trial;
  }

  // Settings to run beside the base: the cheapest that the model predicts within the tolerance of the fastest, the
  // fastest, and others in the order of their predicted rates.
  std::vector<Setting> promising(const Forecast& forecast, const Setting& base) const {
    std::vector<std::pair<double, Setting>> predicted;
    for (const Setting& setting : settings_)
      predicted.emplace_back(forecast.rate(loader_options(subject_.task, setting, as_run(forecast))), setting);
    std::ranges::stable_sort(predicted, std::greater{}, [](const auto& one) { return one.first; });
    const double enough = predicted.front().first * (1 - options_.tolerance);
    const auto close = std::ranges::stable_partition(predicted, [&](const auto& one) { return one.first >= enough; });
    const auto cheapest = std::ranges::min_element(predicted.begin(), close.begin(), {},
                                                   [](const auto& one) { return cost(one.second); });
    std::rotate(predicted.begin(), cheapest, cheapest + 1);
    std::vector<Setting> chosen;
    const std::size_t most = std::max<std::size_t>(3, settings_.size() / 4) - 1;
    for (const auto& [speed, setting] : predicted)
      if (chosen.size() < most && setting != base) chosen.push_back(setting);
    return chosen;
  }

  std::vector<BenchRow> sweep_of(std::vector<Setting> settings, double seconds, unsigned rounds) const {
    SweepOptions options;
    options.settings = std::move(settings);
    options.seconds = seconds;
    options.rounds = rounds;
    options.efficiency = false;
    options.limits = false;
    options.trial = options_.trial;
    return sweep(std::span(&subject_, 1), options).rows;
  }

  const BenchRow& cheapest_of(const std::vector<BenchRow>& rows) const {
    const double enough = rate(rows.front()) * (1 - options_.tolerance);  // the fastest comes first
    const BenchRow* best = &rows.front();
    for (const BenchRow& row : rows)
      if (rate(row) >= enough && cost(row.setting) < cost(best->setting)) best = &row;
    return *best;
  }

  const Subject& subject_;
  const TuneOptions& options_;
  const std::vector<Setting> settings_;
};

std::string reason_of(const BenchRow& best) {
  std::string text = std::string(name(best.verdict.binds)) + ": " + best.verdict.text;
  if (best.setting.workers >= usable_cores())
    text += "; all " + std::to_string(usable_cores()) + " usable cores have a worker";
  return text;
}

// ", {.format = \"tar\", .split_names = false}"; empty without options.
std::string options_in_cpp(const OpenOptions& options) {
  std::string text;
  for (const auto& [name, value] : given_options(options)) {
    const bool word = value == "true" || value == "false", list = value.starts_with('[');
    const std::string written = list   ? "{" + value.substr(1, value.size() - 2) + "}"
                                : word ? value
                                       : "\"" + value + "\"";
    text += (text.empty() ? ", {." : ", .") + std::string(name) + " = " + written;
  }
  return text.empty() ? text : text + "}";
}

}  // namespace

TuneResult tune(const Subject& subject, const TuneOptions& options) {
  TuneResult result = Search(subject, options).run();
  const Setting& best = result.best.setting;
  const std::string batch = std::to_string(best.batch_size), workers = std::to_string(best.workers),
                    prefetch = std::to_string(best.prefetch);
  const bool mixed = subject.task.mixture != nullptr, view = !mixed && subject.dataset.is_view();
  const std::string path = "\"" + (mixed ? subject.task.mixture_file : subject.dataset.path()).string() + "\"";
  const OpenOptions& given = options_of(subject.dataset.shard(0));
  const std::string in_cpp = view    ? "view"
                             : mixed ? "penstock::read_mixture(" + path + ")"
                                     : "penstock::open(" + path + options_in_cpp(given) + ")";
  const std::string in_python = view                     ? "view"
                                : mixed                  ? "ps.mixture(" + path + ")"
                                : given == OpenOptions() ? path
                                                         : "ps.open(" + path + options_text(given) + ")";
  result.reason = reason_of(result.best);
  const std::string device = options.trial.loader.device_options.opened != nullptr
                                 ? to_string(options.trial.loader.device_options.opened->id())
                                 : "";
  result.cpp_line = "penstock::Loader loader(" + in_cpp + ", {.batch_size = " + batch + ", .workers = " + workers +
                    ", .prefetch = " + prefetch + ", .transforms = fields" +
                    (device.empty() ? "" : ", .device = \"" + device + "\"") + "});";
  result.python_line = "loader = ps.Loader(" + in_python + ", batch_size=" + batch + ", workers=" + workers +
                       ", prefetch=" + prefetch + (device.empty() ? "" : ", device=\"" + device + "\"") +
                       ", transforms=transforms)";
  return result;
}

}  // namespace penstock
