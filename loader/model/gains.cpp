#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <base/amounts.hpp>
#include <loader/model/gains.hpp>
#include <storage/uring/uring_refusal.hpp>

namespace penstock {
namespace {

constexpr const char* kTheConsumer = "the consumer";
constexpr double kWorth = 0.03;  // share of the rate from which on a change counts as a gain
constexpr double kFit = 0.005;   // tolerance, as a share of the measured rate, of the fit of demands
constexpr double kMostOff = 4;   // limit for the factor of the fit
constexpr unsigned kFits = 4;
constexpr double kClose = 0.02;  // tolerance, as a share of the best rate, for a cheaper value
constexpr std::array<unsigned, 13> kWorkers{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128};
constexpr std::array<unsigned, 6> kPrefetch{1, 2, 4, 8, 16, 32};

}  // namespace

Forecast::Forecast(Demands demands, const MachineModel& machine, LoaderOptions options)
    : demands_(std::move(demands)), machine_(machine), options_(std::move(options)) {
  base_ = simulated(demands_, machine_, options_).samples_per_s;
  // Costs that the model omits are attributed to all demands except the consumer's, by scaling them until the
  // simulated rate matches the measured one.
  for (unsigned i = 0; i < kFits && known() && demands_.samples_per_s > 0; ++i) {
    const double slower = std::clamp(base_ / demands_.samples_per_s, 1 / kMostOff, kMostOff);
    if (std::abs(slower - 1) < kFit) break;
    Demands fitted = demands_;
    fitted.scale(slower);
    const double rate = simulated(fitted, machine_, options_).samples_per_s;
    if (std::abs(rate - demands_.samples_per_s) >= std::abs(base_ - demands_.samples_per_s)) break;
    demands_ = std::move(fitted);
    base_ = rate;
  }
}

double Forecast::rate_of(const Demands& demands, const MachineModel& machine, const LoaderOptions& wanted) const {
  if (!known()) return 0;
  return demands_.samples_per_s * simulated(demands, machine, wanted).samples_per_s / base_;
}

// Returns the demands with the engine in `wanted`, and with values from memory if `wanted` has a cache.
Demands Forecast::demands_for(const LoaderOptions& wanted) const {
  if (wanted.cache.kind != options_.cache.kind && wanted.cache.kind != CacheKind::none) {
    const bool pixels = wanted.cache.kind == CacheKind::decoded && demands_.pixels;
    return demands_.cached(pixels ? *demands_.pixels : CacheDemand{.bytes = demands_.mean_bytes()}, wanted.cache.limit);
  }
  const std::uint64_t block = wanted.shuffle_block.value_or(0);
  if (block != 0 && block == demands_.blocks.shuffle_block && options_.shuffle_block.value_or(0) == 0)
    return demands_.joined();
  if (wanted.read_options.engine == options_.read_options.engine || !reads_ahead(wanted.read_options.engine) ||
      demands_.reads_ahead)
    return demands_;
  Demands demands = demands_;
  demands.reads_ahead = true;
  for (RowDemand& row : demands.rows) row.reads = 0;
  return demands;
}

// The bottleneck is the resource whose removal raises the simulated rate most, and by more than kWorth.
Outlook Forecast::outlook_of(const Demands& demands, const MachineModel& machine, const LoaderOptions& wanted) const {
  if (!known()) return {};
  const Simulated now = simulated(demands, machine, wanted);
  Outlook outlook;
  outlook.samples_per_s = demands_.samples_per_s * now.samples_per_s / base_;
  double most = now.samples_per_s * (1 + kWorth);
  const auto freed = [&](const std::string& limit, const Demands& better, const MachineModel& faster,
                         const LoaderOptions& options) {
    const double rate = simulated(better, faster, options).samples_per_s;
    if (rate > most) most = rate, outlook.limit = limit;
  };
  const auto eased = [&](const std::string& limit, auto ease) {
    Demands better = demands;
    ease(better);
    freed(limit, better, machine, wanted);
  };
  eased(kTheConsumer, [](Demands& better) { better.step = 0; });
  if (demands.storage.bytes_per_s > 0)
    eased("storage bandwidth at " + decimal_bytes_text(now.bytes_per_s) + "/s",
          [](Demands& better) { better.storage.bytes_per_s = 0; });
  eased("storage latency", [](Demands& better) {
    better.storage.latency = 0;
    for (RowDemand& row : better.rows) row.reads = better.storage.bytes_per_s > 0 ? row.reads : 0;
  });
  eased("the custom transform", [](Demands& better) { std::ranges::fill(better.line, 0.0); });
  eased("the plan", [](Demands& better) { better.plan = 0; });
  LoaderOptions deeper = wanted;
  deeper.prefetch *= 16;
  freed("prefetch", demands, machine, deeper);
  LoaderOptions wider = wanted;
  wider.workers *= 8;
  if (simulated(demands, machine, wider).samples_per_s > now.samples_per_s * (1 + kWorth)) {
    freed("the workers", demands, machine, wider);
  } else {  // with more workers only the same cores would be shared
    MachineModel more = machine;
    more.cores *= 16, more.full_speed = 1;
    freed(machine.cores == 1 ? "the core" : text_of("the %.0f cores", machine.cores), demands, more, wider);
  }
  return outlook;
}

namespace {

class Search {
 public:
  explicit Search(const Forecast& forecast) : forecast_(forecast), now_(forecast.rate(forecast.options())) {}

  std::vector<Gain> run() {
    const LoaderOptions workers = best_of(kWorkers, &LoaderOptions::workers, forecast_.options());
    const LoaderOptions prefetch = best_of(kPrefetch, &LoaderOptions::prefetch, forecast_.options());
    const LoaderOptions both = best_of(kPrefetch, &LoaderOptions::prefetch, workers);
    // The user chose the number of workers.
    const bool own_choice = forecast_.options().max_workers <= forecast_.options().workers;
    if (own_choice) offer("workers", std::to_string(workers.workers), workers);
    offer("prefetch", std::to_string(prefetch.prefetch), prefetch);
    const double alone = std::max(forecast_.rate(workers), forecast_.rate(prefetch));
    if (own_choice && both.prefetch != workers.prefetch && forecast_.rate(both) > alone * (1 + kWorth))
      offer("workers, prefetch", std::to_string(both.workers) + ", " + std::to_string(both.prefetch), both);
    if (!forecast_.demands().reads_ahead && forecast_.demands().storage.latency > 0) {
      LoaderOptions ahead = forecast_.options();
      ahead.read_options.engine = uring_refusal() == 0 ? EngineKind::io_uring : EngineKind::pread;
      offer("engine", std::string(name(ahead.read_options.engine)), ahead);
    }
    const Demands& demands = forecast_.demands();
    offer_blocks(demands.blocks);
    if (demands.storage.latency > 0) offer_cache(CacheKind::encoded, demands.mean_bytes());
    if (demands.pixels) offer_cache(CacheKind::decoded, demands.pixels->bytes);
    if (forecast_.outlook(forecast_.options()).limit != kTheConsumer) {  // a consumer's step would grow with its batch
      LoaderOptions larger = forecast_.options();
      larger.batch_size *= 2;
      offer("batch_size", std::to_string(larger.batch_size), larger);
    }
    std::ranges::stable_sort(gains_, std::greater{}, &Gain::ratio);
    return std::move(gains_);
  }

 private:
  // Returns the options with the cheapest value within kClose of the best.
  template <std::size_t count>
  LoaderOptions best_of(const std::array<unsigned, count>& values, unsigned LoaderOptions::*knob,
                        LoaderOptions options) const {
    std::array<double, count> rates{};
    for (std::size_t i = 0; i < count; ++i) {
      options.*knob = values[i];
      rates[i] = forecast_.rate(options);
    }
    const double enough = (1 - kClose) * *std::ranges::max_element(rates);
    options.*knob = values[static_cast<std::size_t>(
        std::ranges::find_if(rates, [&](double rate) { return rate >= enough; }) - rates.begin())];
    return options;
  }

  void offer_cache(CacheKind kind, double bytes) {
    if (forecast_.options().cache.kind != CacheKind::none) return;
    LoaderOptions cached = forecast_.options();
    cached.cache.kind = kind;
    const double all = bytes * static_cast<double>(forecast_.demands().samples);
    const double held = all > 0 ? static_cast<double>(cached.cache.limit) / all : 1;
    offer("cache", std::string(penstock::name(kind)), cached,
          held < 1 ? text_of(", its %s hold %.0f %% of the samples",
                             decimal_bytes_text(static_cast<double>(cached.cache.limit)).c_str(), 100 * held)
                   : "");
  }

  // Offers to merge neighbouring samples of a store into one request.
  void offer_blocks(const BlockOffer& blocks) {
    const Demands& demands = forecast_.demands();
    const bool reads = demands.reads_ahead && demands.storage.latency > 0 && demands.storage.sizes_tell;
    if (blocks.shuffle_block == 0 || !reads || forecast_.options().shuffle_block.value_or(0) != 0) return;
    LoaderOptions joined = forecast_.options();
    joined.shuffle_block = blocks.shuffle_block;
    offer("shuffle_block", std::to_string(blocks.shuffle_block), joined,
          text_of(", one request for about %.0f samples instead of %.0f", 1 / blocks.requests_then,
                  blocks.requests / blocks.requests_then));
  }

  void offer(const std::string& knob, const std::string& value, const LoaderOptions& options,
             const std::string& besides = {}) {
    const Outlook outlook = forecast_.outlook(options);
    if (now_ <= 0 || outlook.samples_per_s < now_ * (1 + kWorth)) return;
    const double ratio = outlook.samples_per_s / now_;
    const std::string then = outlook.limit.empty() ? "" : ", limited then by " + outlook.limit;
    gains_.push_back(
        {.knob = knob,
         .value = value,
         .options = options,
         .samples_per_s = outlook.samples_per_s,
         .ratio = ratio,
         .limit = outlook.limit,
         .text = text_of("%s=%s: %+.0f %%", knob.c_str(), value.c_str(), 100 * (ratio - 1)) + then + besides});
  }

  const Forecast& forecast_;
  const double now_;
  std::vector<Gain> gains_;
};

}  // namespace

std::vector<Gain> gains_of(const Forecast& forecast) {
  if (!forecast.known()) return {};
  return Search(forecast).run();
}

}  // namespace penstock
