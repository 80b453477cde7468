#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <penstock/base/cores.hpp>
#include <penstock/base/error.hpp>
#include <penstock/bench/measure/advice.hpp>
#include <penstock/bench/measure/ceiling.hpp>
#include <penstock/bench/report/units.hpp>
#include <penstock/loader/time/figures.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLoopBytes = std::uint64_t{256} << 20;
constexpr auto kLoop = std::chrono::milliseconds(150);
constexpr unsigned kLoops = 3;
constexpr std::size_t kShown = 5;

[[noreturn]] void refuse(std::string_view part) {
  throw Error::invalid_argument(
      "a machine is cores=N, disk=SIZE/s or step=TIME, or several of them with commas, not '" + std::string(part) +
      "'");
}

double time_in_seconds(std::string_view text, std::string_view part) {
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (failure != std::errc() || !std::isfinite(number) || number < 0) refuse(part);
  if (unit == "us") return number * 1e-6;
  if (unit == "ms") return number * 1e-3;
  if (unit == "s") return number;
  refuse(part);
}

unsigned cores_of(std::string_view text, std::string_view part) {
  unsigned cores = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), cores);
  if (failure != std::errc() || end != text.data() + text.size() || cores == 0 || cores > 4096) refuse(part);
  return cores;
}

double rate_of(std::string_view text, std::string_view part) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  const auto bytes = static_cast<double>(parse_size(std::string(text)));
  if (bytes <= 0) refuse(part);
  return bytes;
}

// The same samples on another machine.
Demands on(const OtherMachine& other, Demands demands) {
  if (other.step) demands.step = *other.step, demands.step_computes = false;
  if (!other.bytes_per_s) return demands;
  demands.storage.bytes_per_s = *other.bytes_per_s;
  if (!demands.reads_ahead)
    for (RowDemand& row : demands.rows) row.reads = row.bytes / *other.bytes_per_s;
  return demands;
}

}  // namespace

MachineModel calibrated(const Subject& subject, std::uint32_t batch_size, const TrialOptions& trial) {
  const unsigned cores = usable_cores();
  MachineModel machine{.cores = static_cast<double>(cores)};
  if (cores == 1) return machine;
  Ceiling loop(subject.dataset, subject.task.fields, trial.seed, kLoopBytes, trial.keep_going);
  std::vector<double> ratios;
  for (unsigned i = 0; i < kLoops; ++i) {
    const double alone = loop.run({.threads = 1, .batch_size = batch_size}, kLoop);
    const double all = loop.run({.threads = cores, .batch_size = batch_size}, kLoop);
    if (alone > 0) ratios.push_back(all / (alone * cores));
  }
  if (!ratios.empty()) machine.full_speed = std::clamp(spread_of(ratios).median, 1.0 / cores, 1.0);
  return machine;
}

Forecast forecast_of(const Task& task, const Setting& setting, const TrialOptions& trial, const Stats& stats,
                     const MachineModel& machine) {
  Demands demands = demands_of(stats, machine, setting.batch_size);
  demands.step_computes = trial.consumer.kind == Consumer::Kind::busy;
  if (trial.consumer.kind == Consumer::Kind::none) demands.step = 0;
  LoaderOptions options = loader_options(task, setting, trial);
  options.engine = stats.engine;
  return {std::move(demands), machine, std::move(options)};
}

OtherMachine OtherMachine::parse(std::string_view text) {
  OtherMachine machine;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) refuse(part);
    const std::string_view knob = part.substr(0, equals), value = part.substr(equals + 1);
    if (knob == "cores")
      machine.cores = cores_of(value, part);
    else if (knob == "disk")
      machine.bytes_per_s = rate_of(value, part);
    else if (knob == "step")
      machine.step = time_in_seconds(value, part);
    else
      refuse(part);
  }
  return machine;
}

std::string OtherMachine::name() const {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (cores) add(std::to_string(*cores) + (*cores == 1 ? " core" : " cores"));
  if (bytes_per_s) add("storage of " + decimal_bytes_text(*bytes_per_s) + "/s");
  if (step) add("a step of " + time_text(*step));
  return text.empty() ? "this machine" : text;
}

Advice advise(const Forecast& forecast, const std::optional<OtherMachine>& other) {
  Advice advice{.gains = gains_of(forecast), .known = forecast.known(), .elsewhere = {}};
  if (!other || !forecast.known()) return advice;
  MachineModel machine = forecast.machine();
  LoaderOptions options = forecast.options();
  if (other->cores) machine.cores = *other->cores, options.workers = *other->cores;
  advice.elsewhere = {.machine = other->name(),
                      .workers = options.workers,
                      .outlook = forecast.elsewhere(on(*other, forecast.demands()), machine, options)};
  return advice;
}

std::string to_text(const Advice& advice) {
  if (!advice.known) return {};
  std::string text = "gains, as a model of the pipeline predicts them (--check runs them):\n";
  if (advice.gains.empty()) text = "no knob alone gains 3 %, as a model of the pipeline predicts\n";
  for (std::size_t i = 0; i < std::min(kShown, advice.gains.size()); ++i) text += "  " + advice.gains[i].text + "\n";
  if (!advice.elsewhere) return text;
  const Outlook& outlook = advice.elsewhere->outlook;
  return text + "on " + advice.elsewhere->machine + ", with " + std::to_string(advice.elsewhere->workers) +
         (advice.elsewhere->workers == 1 ? " worker: " : " workers: ") + fixed(outlook.samples_per_s, 1) +
         " samples/s" + (outlook.limit.empty() ? "" : ", limited by " + outlook.limit) + "\n";
}

}  // namespace penstock
