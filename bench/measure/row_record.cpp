#include <algorithm>

#include <bench/measure/sweep.hpp>

namespace penstock {

void RowRecord::add(const Trial& trial, double loop_samples_per_s, std::uint64_t loop_bytes) {
  const Stats& stats = trial.stats;
  if (rates_.empty()) row_.resident_share = trial.resident_share;
  rates_.push_back(trial.samples_per_s());
  first_batches_.push_back(trial.first_batch * 1e3);
  if (loop_samples_per_s > 0) {
    loops_.push_back(loop_samples_per_s);
    ratios_.push_back(trial.samples_per_s() / loop_samples_per_s);
  }
  // The plain loop holds its samples in this process too, which is not memory of the loader.
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
  if (trial.plain_copies > 0) plain_copies_.push_back(trial.plain_copies / 1e9);
  if (trial.digest) row_.digest = trial.digest;
  ++row_.rounds;
  row_.samples += stats.samples;
  row_.seconds += trial.seconds;
  const bool first = row_.stats.batches == 0;
  penstock::add(row_.stats, stats);
  if (!first) row_.stats.levels.insert(row_.stats.levels.end(), stats.levels.begin(), stats.levels.end());
}

BenchRow RowRecord::row() const {
  BenchRow row = row_;
  row.samples_per_s = spread_of(rates_);
  row.first_batch_ms = spread_of(first_batches_).median;
  row.loop_samples_per_s = spread_of(loops_).median;
  if (!ratios_.empty()) row.efficiency = spread_of(ratios_);
  if (row.seconds > 0) row.mb_per_s = static_cast<double>(row.stats.stored_bytes) / 1e6 / row.seconds;
  row.copied_mb = static_cast<double>(row.stats.copied_bytes) / 1e6;
  if (const auto copying = row.stats.copy_time; copying.count() > 0)
    row.copy_gb_per_s = static_cast<double>(row.stats.copied_bytes) / static_cast<double>(copying.count());
  row.plain_copy_gb_per_s = spread_of(plain_copies_).median;
  if (const auto samples = static_cast<double>(row.stats.samples); samples > 0) {
    row.data_wait_ms = std::chrono::duration<double, std::milli>(row.stats.data_wait).count() / samples;
    row.step_ms = std::chrono::duration<double, std::milli>(row.stats.step_time).count() / samples;
  }
  row.pinned = row.stats.staging.starts_with("page-locked");
  const auto waited = row.stats.data_wait, all = waited + row.stats.step_time;
  if (all.count() > 0)
    row.data_wait_percent = 100.0 * static_cast<double>(waited.count()) / static_cast<double>(all.count());
  if (!row.stats.stages.empty()) row.verdict = verdict_of(row.stats);
  return row;
}

}  // namespace penstock
