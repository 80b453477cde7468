#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <base/amounts.hpp>
#include <loader/model/demands.hpp>
#include <record/time/rates.hpp>
#include <record/time/read_trend.hpp>

namespace penstock {
namespace {

// Share of the reads' time that must correlate with the bytes in flight to count as bandwidth.
constexpr double kSeen = 0.5;
constexpr double kWaits = 0.2;  // share of the workers' time off cores below which it counts as ordinary noise
constexpr double kRounding = 1e-9;
constexpr double kQueued = 1.5;  // a read that takes more than this times a request has waited for its turn
constexpr double kReads = 0.1;   // share of the workers' time in reads below which it counts as other work

bool of_loader(std::string_view stage) {
  static constexpr std::array<std::string_view, 5> kStages{"plan", "read", "decode", "transform", "deliver"};
  return std::ranges::find(kStages, stage) != kStages.end();
}

StorageDemand storage_of(const Stats& stats) {
  StorageDemand storage;
  if (stats.last_reads.empty()) return storage;
  double took = 0, under_way = 0;
  for (const ReadSpan& read : stats.last_reads) {
    took += seconds_of(read.took);
    under_way += static_cast<double>(read.under_way);
  }
  const auto count = static_cast<double>(stats.last_reads.size());
  storage.latency = took / count;
  const auto trend = trend_of(stats.last_reads, by_bytes_under_way);
  if (trend && trend->share >= kSeen && trend->slope > 0) {
    storage.bytes_per_s = 1 / trend->slope;
    storage.latency = std::max(0.0, took / count - under_way / count * trend->slope);
  }
  return storage;
}

double mean_took(const std::vector<ReadSpan>& reads) {
  double took = 0;
  for (const ReadSpan& read : reads) took += seconds_of(read.took) / static_cast<double>(reads.size());
  return took;
}

// A store's requests are timed separately. If reads took much longer than their requests, the difference is waiting
// for a turn. The dependence of the time on the size of requests gives latency and bandwidth.
StorageDemand of_store(const StorageDemand& by_reads, const Stats& stats) {
  const StoreRates rates = store_rates(stats);
  if (rates.latency <= 0 || stats.samples == 0 || stats.last_reads.empty()) return by_reads;
  StorageDemand storage = by_reads;
  if (!has_disk_cache(stats))  // a disk cache serves some of the rows
    storage.rows = std::max(1.0, static_cast<double>(stats.samples) / static_cast<double>(stats.reads.store.requests));
  const auto by_size = trend_of(stats.reads.store.answers);
  if (!by_size) return storage;
  const double took = mean_took(stats.last_reads);
  const bool queued = took >= kQueued * rates.latency;
  if (queued) storage.at_once = std::max(1.0, rates.under_way);
  storage.latency = (queued ? rates.latency : took) - rates.latency * by_size->share;
  storage.bytes_per_s = by_size->slope > 0 ? std::max(1.0, rates.under_way) / by_size->slope : 0;
  storage.sizes_tell = true;
  return storage;
}

}  // namespace

bool reads_ahead(EngineKind engine) {
  return engine == EngineKind::io_uring || engine == EngineKind::pread || engine == EngineKind::store;
}

double MachineModel::speed(double threads) const {
  const double busy = std::min(threads, cores);
  if (busy <= 0) return 1;
  const double slower = cores > 1 ? (1 - full_speed) * std::max(0.0, busy - 1) / (cores - 1) : 0;
  return (1 - slower) * busy / threads;
}

void Demands::scale(double slower) {
  for (RowDemand& row : rows) row.reads *= slower, row.waits *= slower, row.computes *= slower;
  for (double& time : line) time *= slower;
  plan *= slower;
  storage.latency *= slower;
  storage.bytes_per_s /= slower;
}

Demands Demands::joined() const {
  Demands made = *this;
  if (blocks.shuffle_block != 0) made.storage.rows = storage.rows * blocks.requests / blocks.requests_then;
  return made;
}

double Demands::mean_bytes() const {
  double bytes = 0;
  for (const RowDemand& row : rows) bytes += row.bytes;
  return rows.empty() ? 0 : bytes / static_cast<double>(rows.size());
}

Demands Demands::kept(const Keeping& keeping) const {
  Demands made = *this;
  for (RowDemand& row : made.rows) {
    const double left = 1 + row.bringing * (keeping.bytes - 1) + row.filling * (keeping.filling - 1);
    row.waits *= left, row.computes *= left;
    if (storage.bytes_per_s > 0) row.reads *= keeping.bytes;
    row.bytes *= keeping.bytes;
  }
  return made;
}

Demands Demands::cached(const CacheDemand& cache, std::uint64_t cache_bytes) const {
  const double all = cache.bytes * static_cast<double>(samples);
  const double share = all > 0 ? std::min(1.0, static_cast<double>(cache_bytes) / all) : 1;
  Demands made = *this;
  double hits = 0;
  for (RowDemand& row : made.rows) {  // spreads the hits evenly over the rows
    const double before = hits;
    hits += share;
    if (std::floor(hits + kRounding) <= std::floor(before + kRounding)) continue;
    const double left = 1 - row.bringing + row.filling * (cache.filling - 1);
    row.waits *= left, row.computes *= left;
    row.reads = row.bytes = 0;
  }
  return made;
}

Demands demands_of(const Stats& stats, const MachineModel& machine, std::uint32_t batch_size) {
  Demands demands;
  const double wall = seconds_of(stats.wall), samples = static_cast<double>(stats.samples);
  const double batches = static_cast<double>(stats.batches);
  if (wall <= 0 || samples <= 0 || batches <= 0 || stats.last_rows.empty()) return demands;
  demands.samples_per_s = samples / wall;
  demands.step = seconds_of(stats.step_time) / batches;
  demands.fullness = std::clamp(samples / (batches * batch_size), 1.0 / batch_size, 1.0);
  if (stats.slabs > 0) demands.row_bytes = static_cast<double>(stats.slab_bytes / stats.slabs) / batch_size;

  double reading = 0, filling = 0, besides = 0;  // of the workers: reads; decode and transform; everything else
  for (const StageStats& stage : stats.stages) {
    if (stage.name == "plan") demands.plan = seconds_of(stage.busy) / samples;
    if (stage.name == "decode" || stage.name == "transform") filling += seconds_of(stage.busy);
    if (stage.name == "deliver") besides += seconds_of(stage.busy);
    if (!of_loader(stage.name)) demands.line.push_back(seconds_of(stage.busy) / batches);
  }
  for (const auto& [name, distribution] : stats.histograms)
    if (name == "read") reading = static_cast<double>(distribution.sum) * 1e-9;
  demands.reads_ahead = reads_ahead(stats.engine);
  demands.from_store = stats.engine == EngineKind::store;

  // The workers' time is on cores, waiting for a core, waiting for storage, or waiting for something else.
  const double work = reading + filling + besides;
  const double most = std::min(work, wall * std::min(static_cast<double>(stats.workers), machine.cores));
  const bool told = stats.workers_on_cores.count() > 0;
  double on = told ? std::min(work, seconds_of(stats.workers_on_cores)) : most;
  const double awaited = told ? std::min(work - on, seconds_of(stats.workers_await_cores)) : work - most;
  double waited = std::max(0.0, work - on - awaited);
  if (waited < kWaits * work) on += std::exchange(waited, 0.0);
  // The part of `waited` that is for storage.
  const double stored = reading >= kReads * work ? std::min(reading, waited) : 0;
  if (demands.reads_ahead || stored > 0) demands.storage = storage_of(stats);
  demands.store_timed = demands.from_store && stats.reads.store.answers.count > 0;
  if (demands.from_store) demands.storage = of_store(demands.storage, stats);
  demands.blocks = stats.block_offer;
  const double speed = machine.speed(std::max(1.0, on / wall));
  const double scale_reads = reading > 0 ? stored / reading : 0;
  const double rest = work - stored;
  const double on_share = rest > 0 ? on / rest : 0, wait_share = rest > 0 ? (waited - stored) / rest : 0;
  const double more = besides / samples;  // per row
  for (const RowSpan& row : stats.last_rows) {
    const double reads = seconds_of(row.read) * scale_reads;
    const double bringing = seconds_of(row.read) - reads, filling_row = seconds_of(row.decode + row.transform);
    const double busy = bringing + filling_row + more;
    demands.rows.push_back({.reads = reads,
                            .waits = busy * wait_share,
                            .computes = busy * on_share * speed,
                            .bytes = static_cast<double>(row.bytes),
                            .bringing = busy > 0 ? bringing / busy : 0,
                            .filling = busy > 0 ? filling_row / busy : 0});
  }
  // The records cover the last rows. Scales them so that their mean is that of all rows.
  double recorded = 0;
  for (const RowSpan& row : stats.last_rows) recorded += seconds_of(row.read + row.decode + row.transform);
  const double scale =
      recorded > 0 ? (reading + filling) / samples * static_cast<double>(demands.rows.size()) / recorded : 1;
  for (RowDemand& row : demands.rows) row.reads *= scale, row.waits *= scale, row.computes *= scale;
  return demands;
}

}  // namespace penstock
