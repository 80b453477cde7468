#include <algorithm>

#include <penstock/bench/measure/sweep.hpp>

namespace penstock {
namespace {

double at_share(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

template <typename Entry>
Entry& entry_named(std::vector<Entry>& entries, const std::string& name, std::string Entry::*member) {
  const auto found = std::ranges::find(entries, name, member);
  if (found != entries.end()) return *found;
  entries.emplace_back();
  entries.back().*member = name;
  return entries.back();
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {at_share(values, 0.5), at_share(values, 0.25), at_share(values, 0.75)};
}

void RowRecord::add(const Trial& trial, double loop_samples_per_s, std::uint64_t loop_bytes) {
  const Stats& stats = trial.stats;
  if (rates_.empty()) row_.resident_share = trial.resident_share;
  rates_.push_back(trial.samples_per_s());
  first_batches_.push_back(trial.first_batch * 1e3);
  if (loop_samples_per_s > 0) {
    loops_.push_back(loop_samples_per_s);
    ratios_.push_back(trial.samples_per_s() / loop_samples_per_s);
  }
  const std::uint64_t own_bytes = trial.peak_memory_bytes - std::min(trial.peak_memory_bytes, loop_bytes);
  row_.peak_memory_mb = std::max(row_.peak_memory_mb, static_cast<double>(own_bytes) / 1e6);
  row_.engine = name(stats.engine);
  row_.engine_reason = stats.engine_reason;
  row_.notes = stats.notes;
  const auto note = [this](const std::string& what, const std::string& said) {
    if (!said.empty()) row_.notes += (row_.notes.empty() ? "" : "; ") + (what + said);
  };
  note("gpu direct: ", stats.gpu_direct);
  note("gpu jpeg: ", stats.gpu_jpeg);
  row_.device = stats.device;
  if (!stats.device.empty()) row_.staging = stats.staging;
  copied_bytes_ += stats.copied_bytes;
  copying_ += stats.copy_time;
  if (trial.plain_copies > 0) plain_copies_.push_back(trial.plain_copies / 1e9);
  if (trial.digest) row_.digest = trial.digest;
  ++row_.rounds;
  row_.samples += stats.samples;
  row_.seconds += trial.seconds;
  bytes_read_ += stats.bytes_read;
  waited_ += stats.consumer_wait;
  busy_ += stats.consumer_busy;
  for (const StageStats& stage : stats.stages) {
    StageStats& sum = entry_named(row_.stages, stage.name, &StageStats::name);
    sum.threads = std::max(sum.threads, stage.threads);
    sum.busy += stage.busy;
    sum.stalled_in += stage.stalled_in;
    sum.stalled_out += stage.stalled_out;
  }
  using Wait = std::pair<std::string, std::chrono::nanoseconds>;
  for (const auto& [stage, time] : stats.waited_for) entry_named(row_.waited_for, stage, &Wait::first).second += time;
}

BenchRow RowRecord::row() const {
  BenchRow row = row_;
  row.samples_per_s = spread_of(rates_);
  row.first_batch_ms = spread_of(first_batches_).median;
  row.loop_samples_per_s = spread_of(loops_).median;
  if (!ratios_.empty()) row.efficiency = spread_of(ratios_);
  if (row.seconds > 0) row.mb_per_s = static_cast<double>(bytes_read_) / 1e6 / row.seconds;
  row.copied_mb = static_cast<double>(copied_bytes_) / 1e6;
  if (copying_.count() > 0)
    row.copy_gb_per_s = static_cast<double>(copied_bytes_) / static_cast<double>(copying_.count());
  row.plain_copy_gb_per_s = spread_of(plain_copies_).median;
  const auto all = waited_ + busy_;
  if (all.count() > 0)
    row.stall_percent = 100.0 * static_cast<double>(waited_.count()) / static_cast<double>(all.count());
  return row;
}

}  // namespace penstock
