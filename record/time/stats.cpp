#include <algorithm>
#include <functional>

#include <penstock/record/time/stats.hpp>

namespace penstock {

void add(Stats& sum, const Stats& more) {
  if (sum.stages.empty() && sum.batches == 0) {
    sum = more;
    return;
  }
  const auto entry = [](auto& entries, const auto& wanted, auto name) -> auto& {
    const auto found = std::ranges::find_if(entries, [&](const auto& known) { return name(known) == name(wanted); });
    if (found != entries.end()) return *found;
    entries.push_back(wanted);
    entries.back() = {};
    name(entries.back()) = name(wanted);
    return entries.back();
  };
  const auto named = [](auto& one) -> auto& {
    return one.name;
  };
  const auto first = [](auto& one) -> auto& {
    return one.first;
  };
  for (const StageStats& stage : more.stages) {
    StageStats& all = entry(sum.stages, stage, named);
    all.threads = std::max(all.threads, stage.threads);
    all.busy += stage.busy;
    all.stalled_in += stage.stalled_in;
    all.stalled_out += stage.stalled_out;
  }
  for (const auto& wait : more.waited_for) entry(sum.waited_for, wait, first).second += wait.second;
  for (const auto& histogram : more.histograms) entry(sum.histograms, histogram, first).second += histogram.second;
  for (const OutputStats& output : more.outputs) {
    OutputStats& all = entry(sum.outputs, output, named);
    all.decode += output.decode;
    all.transform += output.transform;
  }
  sum.samples += more.samples;
  sum.batches += more.batches;
  sum.bytes_read += more.bytes_read;
  sum.stored_bytes += more.stored_bytes;
  sum.bytes_delivered += more.bytes_delivered;
  sum.wall += more.wall;
  sum.first_batch = std::max(sum.first_batch, more.first_batch);
  sum.consumer_wait += more.consumer_wait;
  sum.consumer_busy += more.consumer_busy;
  sum.batches_taken += more.batches_taken;
  sum.batches_ready += more.batches_ready;
  sum.workers_on_cores += more.workers_on_cores;
  sum.workers_await_cores += more.workers_await_cores;
  sum.own_step_on_cores += more.own_step_on_cores;
  sum.own_step_awaits_lock += more.own_step_awaits_lock;
  sum.reads += more.reads;
  if (more.node_cache && sum.node_cache) *sum.node_cache += *more.node_cache;
  if (more.node_cache && !sum.node_cache) sum.node_cache = more.node_cache, sum.node_cache_dir = more.node_cache_dir;
  if (sum.block_offer.requests == 0) sum.block_offer = more.block_offer;
  sum.epochs = std::max(sum.epochs, more.epochs);
  sum.copied_bytes += more.copied_bytes;
  sum.copy_time += more.copy_time;
  sum.slowest.insert(sum.slowest.end(), more.slowest.begin(), more.slowest.end());
  std::ranges::stable_sort(sum.slowest, std::greater{}, &SlowSample::took);
  sum.slowest.resize(std::min<std::size_t>(sum.slowest.size(), 10));
  constexpr std::size_t kMost = 8192;
  const auto some = [&](auto& kept, const auto& next) {
    const std::size_t room = kMost - std::min(kMost, kept.size());
    kept.insert(kept.end(), next.begin(), next.begin() + static_cast<std::ptrdiff_t>(std::min(room, next.size())));
  };
  some(sum.last_reads, more.last_reads);
  some(sum.last_rows, more.last_rows);
}

}  // namespace penstock
