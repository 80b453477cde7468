#include <algorithm>
#include <map>
#include <tuple>

#include <penstock/base/cores.hpp>
#include <penstock/base/error.hpp>
#include <penstock/bench/measure/bottleneck.hpp>
#include <penstock/bench/measure/tune.hpp>
#include <penstock/bench/report/units.hpp>

namespace penstock {
namespace {

std::vector<unsigned> default_workers() {
  const unsigned cores = usable_cores();
  std::vector<unsigned> counts;
  for (unsigned count = 1; count < cores; count *= 2) counts.push_back(count);
  counts.push_back(cores);
  counts.push_back(cores + (cores + 1) / 2);  // reads that wait leave a core idle
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
        workers_(ladder(options.workers, default_workers())),
        prefetch_(ladder(options.prefetch, {1, 2, 4, 8})) {
    if (workers_.front() == 0 || prefetch_.front() == 0 || options.batch_sizes.empty())
      throw Error::invalid_argument("workers and prefetch must be at least 1, and there must be a batch size");
  }

  TuneResult run() {
    for (const std::uint32_t batch_size : options_.batch_sizes) climb(batch_size);
    const std::vector<Setting> finalists = best_settings(3);
    measure_together(finalists);
    TuneResult result;
    result.settings = workers_.size() * prefetch_.size() * options_.batch_sizes.size();
    const BenchRow* best = cheapest_of(finalists);
    result.best = *best;
    for (const BenchRow& row : rows_) result.tried.push_back(row);
    std::ranges::stable_sort(result.tried, std::greater{}, rate);
    return result;
  }

 private:
  // Up the ladder of one option as long as a step is worth it. `set` puts a value into the setting.
  template <typename Set>
  Setting climb_one(Setting setting, const std::vector<unsigned>& values, Set set) {
    Setting best = setting;
    double best_rate = 0;
    for (const unsigned value : values) {
      set(setting, value);
      const double reached = rate(measure(setting));
      if (best_rate > 0 && reached < best_rate * (1 + options_.tolerance)) break;
      best = setting;
      best_rate = reached;
    }
    return best;
  }

  void climb(std::uint32_t batch_size) {
    const auto near_two = std::ranges::find_if(prefetch_, [](unsigned depth) { return depth >= 2; });
    Setting setting{workers_.front(), near_two == prefetch_.end() ? prefetch_.back() : *near_two, batch_size};
    setting = climb_one(setting, workers_, [](Setting& s, unsigned value) { s.workers = value; });
    climb_one(setting, prefetch_, [](Setting& s, unsigned value) { s.prefetch = value; });
  }

  BenchRow& row_of(const Setting& setting) { return *std::ranges::find(rows_, setting, &BenchRow::setting); }

  const BenchRow& measure(const Setting& setting) {
    const auto known = std::ranges::find(rows_, setting, &BenchRow::setting);
    if (known != rows_.end()) return *known;
    rows_.push_back(sweep_of({setting}).front());
    if (options_.tried) options_.tried(rows_.back());
    return rows_.back();
  }

  void measure_together(const std::vector<Setting>& settings) {
    for (BenchRow& row : sweep_of(settings)) row_of(row.setting) = row;
  }

  std::vector<BenchRow> sweep_of(const std::vector<Setting>& settings) const {
    SweepOptions options;
    options.settings = settings;
    options.seconds = options_.seconds;
    options.rounds = 3;
    options.efficiency = false;
    options.limits = false;
    options.trial = options_.trial;
    return sweep(std::span(&subject_, 1), options).rows;
  }

  std::vector<Setting> best_settings(std::size_t count) const {
    std::vector<BenchRow> sorted = rows_;
    std::ranges::stable_sort(sorted, std::greater{}, rate);
    std::vector<Setting> settings;
    for (std::size_t i = 0; i < std::min(count, sorted.size()); ++i) settings.push_back(sorted[i].setting);
    return settings;
  }

  const BenchRow* cheapest_of(const std::vector<Setting>& settings) {
    double fastest = 0;
    for (const Setting& setting : settings) fastest = std::max(fastest, rate(row_of(setting)));
    const BenchRow* best = nullptr;
    for (const Setting& setting : settings) {
      const BenchRow& row = row_of(setting);
      const bool close = rate(row) >= fastest * (1 - options_.tolerance);
      if (close && (best == nullptr || cost(row.setting) < cost(best->setting))) best = &row;
    }
    return best;
  }

  const Subject& subject_;
  const TuneOptions& options_;
  const std::vector<unsigned> workers_, prefetch_;
  std::vector<BenchRow> rows_;
};

std::string reason_of(const BenchRow& best) {
  const std::string stage = bottleneck(best);
  if (stage == kConsumer)
    return "the consumer hardly waits (stall " + fixed(best.stall_percent, 1) + " %): more workers cannot help";
  std::string text = "the bottleneck is " + (stage.empty() ? "unknown" : stage);
  for (const StageStats& stats : best.stages) {
    if (stats.name != stage || best.seconds <= 0) continue;
    const double threads = std::max(1U, stats.threads);
    const double share = std::chrono::duration<double>(stats.busy).count() / (best.seconds * threads);
    text += ": it works " + fixed(100 * share, 0) + " % of the time on " + std::to_string(stats.threads) +
            (stats.threads == 1 ? " thread" : " threads");
  }
  if (best.setting.workers >= usable_cores())
    text += "; all " + std::to_string(usable_cores()) + " usable cores have a worker";
  return text;
}

}  // namespace

TuneResult tune(const Subject& subject, const TuneOptions& options) {
  TuneResult result = Search(subject, options).run();
  const Setting& best = result.best.setting;
  const std::string batch = std::to_string(best.batch_size), workers = std::to_string(best.workers),
                    prefetch = std::to_string(best.prefetch), path = subject.dataset.path().string();
  result.reason = reason_of(result.best);
  const std::string device = options.trial.device != nullptr ? to_string(options.trial.device->id()) : "";
  result.cpp_line = "penstock::Loader loader(penstock::open(\"" + path + "\"), {.batch_size = " + batch +
                    ", .workers = " + workers + ", .prefetch = " + prefetch +
                    (device.empty() ? "" : ", .device = \"" + device + "\"") + "});";
  result.python_line = "loader = ps.Loader(\"" + path + "\", batch_size=" + batch + ", workers=" + workers +
                       ", prefetch=" + prefetch + (device.empty() ? "" : ", device=\"" + device + "\"") + ")";
  return result;
}

}  // namespace penstock
