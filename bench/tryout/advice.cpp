#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include <base/amounts.hpp>
#include <base/cores.hpp>
#include <bench/measure/units.hpp>
#include <bench/tryout/advice.hpp>
#include <loader/prepare.hpp>
#include <order/permutation/sample_order.hpp>
#include <penstock/error.hpp>
#include <transforms/program/program.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLoopBytes = std::uint64_t{256} << 20;
constexpr auto kLoop = std::chrono::milliseconds(150);
constexpr unsigned kLoops = 3;
constexpr std::size_t kShown = 5;
constexpr double kWorth = 0.03;       // share of the rate from which a gain is reported
constexpr double kWorthTrying = 0.1;  // share of the rate that must be gained if decoding and transforming took no time
constexpr double kInMemory = 0.9;     // share of the dataset's pages

[[noreturn]] void refuse(std::string_view part) {
  throw Error::invalid_argument(
      "'" + std::string(part) +
      "' does not describe a machine; expected cores=N, disk=SIZE/s or step=TIME, or several of them with commas");
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
  if (text.find_first_not_of("0123456789.") == text.npos)
    refuse(part);  // no storage gives so few bytes: the unit is missing
  const auto bytes = static_cast<double>(parse_size(std::string(text), "the rate in " + double_quoted(part)));
  if (bytes <= 0) refuse(part);
  return bytes;
}

// The demands of the same samples on another machine.
Demands on(const OtherMachine& other, Demands demands) {
  if (other.step) demands.step = *other.step, demands.step_computes = false;
  if (!other.bytes_per_s) return demands;
  demands.storage.bytes_per_s = *other.bytes_per_s;
  if (!demands.reads_ahead)
    for (RowDemand& row : demands.rows) row.reads = row.bytes / *other.bytes_per_s;
  return demands;
}

}  // namespace

Calibration::Calibration(const Subject& subject, std::uint32_t batch_size, const TrialOptions& trial)
    : cores_(usable_cores()), batch_size_(batch_size) {
  if (cores_ > 1)
    loop_ = std::make_unique<Ceiling>(subject.dataset, subject.task.fields, trial.loader.seed, kLoopBytes,
                                      trial.keep_going);
}

void Calibration::run() {
  if (loop_ == nullptr) return;
  const double alone = loop_->run({.threads = 1, .batch_size = batch_size_}, kLoop);
  const double all = loop_->run({.threads = cores_, .batch_size = batch_size_}, kLoop);
  if (alone > 0) ratios_.push_back(all / (alone * cores_));
}

MachineModel Calibration::machine() const {
  MachineModel machine{.cores = static_cast<double>(cores_)};
  if (!ratios_.empty()) machine.full_speed = std::clamp(spread_of(ratios_).median, 1.0 / cores_, 1.0);
  return machine;
}

MachineModel calibrated(const Subject& subject, std::uint32_t batch_size, const TrialOptions& trial) {
  Calibration calibration(subject, batch_size, trial);
  for (unsigned i = 0; i < kLoops; ++i) calibration.run();
  return calibration.machine();
}

Forecast forecast_of(const Subject& subject, const Setting& setting, const TrialOptions& trial, const Stats& stats,
                     const MachineModel& machine, const std::optional<CacheDemand>& pixels) {
  Demands demands = demands_of(stats, machine, setting.batch_size);
  demands.samples = subject.dataset.size();
  demands.pixels = pixels;
  demands.step_computes = trial.consumer.kind == Consumer::Kind::busy;
  if (trial.consumer.kind == Consumer::Kind::none) demands.step = 0;
  LoaderOptions options = loader_options(subject.task, setting, trial);
  options.read_options.engine = stats.engine;
  return {std::move(demands), machine, std::move(options)};
}

namespace {

double rate_with(const Forecast& forecast, const Demands& demands) {
  return forecast.elsewhere(demands, forecast.machine(), forecast.options()).samples_per_s;
}

bool is_worth(const Forecast& forecast, const Demands& demands, double share) {
  return rate_with(forecast, demands) >= (1 + share) * forecast.rate(forecast.options());
}

}  // namespace

namespace {

// Reason why nothing is predicted for a block shuffle of a dataset in a store. Empty if there is a prediction, or no
// block shuffle to predict.
std::string untold_blocks(const Demands& demands) {
  if (demands.blocks.small_batch)
    return "neighbours are read together only within a batch, which mixes " + std::to_string(kShuffleWindowBlocks) +
           " blocks; batches of fewer than " + std::to_string(2 * kShuffleWindowBlocks) + " rows join no reads";
  if (demands.blocks.shuffle_block == 0) return {};
  if (!demands.store_timed) return "no request to the store was timed";
  if (!demands.storage.sizes_tell)
    return "all requests had one size, so the time of larger ones is unknown; measure it with --shuffle-block " +
           std::to_string(demands.blocks.shuffle_block);
  return {};
}

}  // namespace

Tryouts tried(const Subject& subject, const Forecast& forecast, const TrialOptions& trial, const Stats& stats,
              double seconds) {
  Tryouts tryouts;
  if (!forecast.known() || trial.loader.device_options.opened != nullptr || trial.loader.cache.kind != CacheKind::none)
    return tryouts;
  const Dataset& dataset = subject.dataset;
  HeldLimits limits{.keep_going = trial.keep_going};
  limits.seconds = std::min(limits.seconds, seconds);
  LoaderOptions options;
  options.transforms = subject.task.fields;
  const Program program = compiled(dataset, resolved(dataset, options));
  if (subject.task.shuffle && trial.loader.shuffle_block.value_or(0) == 0)
    tryouts.blocks = tried_blocks(dataset, program, stats, trial.loader.seed, limits);
  if (!is_worth(forecast, forecast.demands().kept({.filling = 0}), kWorthTrying)) return tryouts;
  tryouts.pixels = tried_pixels(dataset, program, stats.outputs, trial.loader.seed, limits);
  tryouts.packings = tried_packings(dataset, subject.task, stats.outputs, trial.loader.seed, limits);
  return tryouts;
}

Gain gain_of(const PackingTryout& packing, const Forecast& forecast) {
  const Outlook outlook =
      forecast.elsewhere(forecast.demands().kept(packing.keeping), forecast.machine(), forecast.options());
  const double ratio = outlook.samples_per_s / forecast.rate(forecast.options());
  const std::string percent = fixed(100 * (ratio - 1), 0), limit = outlook.limit;
  return {.knob = "pack",
          .value = packing.options,
          .options = forecast.options(),
          .samples_per_s = outlook.samples_per_s,
          .ratio = ratio,
          .limit = limit,
          .text = "pack " + packing.options + ": " + (ratio >= 1 ? "+" : "") + percent + " %, values have " +
                  fixed(packing.keeping.bytes, 2) + " of their size, tried on " + std::to_string(packing.samples) +
                  " samples in memory" + (limit.empty() ? "" : ", limited then by " + limit)};
}

std::vector<Gain> gains_of(const Forecast& forecast, const Tryouts& tryouts) {
  std::vector<Gain> gains = gains_of(forecast);
  if (!forecast.known()) return gains;
  const auto offer = [&](Gain gain) {
    if (gain.ratio >= 1 + kWorth) gains.push_back(std::move(gain));
  };
  for (const PackingTryout& packing : tryouts.packings) offer(gain_of(packing, forecast));
  if (tryouts.blocks) offer(gain_of(*tryouts.blocks, forecast));
  std::ranges::stable_sort(gains, std::greater{}, &Gain::ratio);
  return gains;
}

std::vector<std::string> untold(const Subject& subject, const Forecast& forecast, const TrialOptions& trial,
                                double resident) {
  std::vector<std::string> lines;
  if (!forecast.known()) return lines;
  Demands unread = forecast.demands();
  unread.storage = {};
  for (RowDemand& row : unread.rows) row.reads = row.bytes = 0;
  const bool storage_binds = is_worth(forecast, unread, kWorth);
  if (storage_binds && !subject.dataset.in_store() && !trial.loader.read_options.direct_io && resident < kInMemory)
    lines.push_back("direct_io: no prediction: reads used the page cache, which held " + percent_text(resident) +
                    " of the dataset; measure it with --direct-io");
  const bool in_store = subject.dataset.in_store();
  if (storage_binds && in_store && trial.loader.disk_cache.path.empty())
    lines.push_back(
        "disk_cache: no prediction: the speed of a cache on this node's disk was not measured; measure later epochs "
        "with --disk-cache");
  if (storage_binds && in_store && subject.task.shuffle && trial.loader.shuffle_block.value_or(0) == 0)
    if (const std::string why = untold_blocks(forecast.demands()); !why.empty())
      lines.push_back("shuffle_block: no prediction: " + why);
  if (storage_binds && !in_store && subject.task.shuffle && trial.loader.shuffle_block.value_or(0) == 0 &&
      subject.dataset.packed() && subject.dataset.block_count() == 0)
    lines.push_back(
        "shuffle_block: no prediction: the effect of reading neighbours in a file together was not measured; measure "
        "it with --shuffle-block");
  if (trial.loader.device_options.opened != nullptr && trial.loader.device_options.finish_on != FinishOn::device)
    lines.push_back(
        "finish_on: no prediction: the device was not timed with these transforms; measure it with --finish-on");
  return lines;
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

Advice advise(const Forecast& forecast, const std::optional<OtherMachine>& other, const Tryouts& tryouts) {
  Advice advice{.gains = gains_of(forecast, tryouts), .known = forecast.known(), .elsewhere = {}};
  const LoaderOptions& base = forecast.options();
  advice.base = "workers=" + std::to_string(base.workers) + ", prefetch=" + std::to_string(base.prefetch) + ": " +
                fixed(forecast.demands().samples_per_s, 1) + " samples/s";
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
  std::string text = "predicted speed-ups over " + advice.base +
                     ", by a model of the pipeline (--verify-predictions measures them):\n";
  if (advice.gains.empty()) text = "no single setting gains 3 %, according to a model of the pipeline\n";
  for (std::size_t i = 0; i < std::min(kShown, advice.gains.size()); ++i) text += "  " + advice.gains[i].text + "\n";
  for (const std::string& line : advice.untold) text += "  " + line + "\n";
  if (!advice.elsewhere) return text;
  const Outlook& outlook = advice.elsewhere->outlook;
  return text + "on " + advice.elsewhere->machine + ", with " + std::to_string(advice.elsewhere->workers) +
         (advice.elsewhere->workers == 1 ? " worker: " : " workers: ") + fixed(outlook.samples_per_s, 1) +
         " samples/s" + (outlook.limit.empty() ? "" : ", limited by " + outlook.limit) + "\n";
}

}  // namespace penstock
