#include <algorithm>
#include <functional>

#include <penstock/stats.hpp>

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
    all.input_wait += stage.input_wait;
    all.room_wait += stage.room_wait;
  }
  for (const auto& wait : more.data_wait_by_stage) entry(sum.data_wait_by_stage, wait, first).second += wait.second;
  for (const auto& histogram : more.histograms) entry(sum.histograms, histogram, first).second += histogram.second;
  for (const OutputStats& output : more.outputs) {
    OutputStats& all = entry(sum.outputs, output, named);
    all.decode += output.decode;
    all.transform += output.transform;
  }
  add(static_cast<Counts&>(sum), more);
  if (sum.disk_cache_dir.empty()) sum.disk_cache_dir = more.disk_cache_dir;
  if (sum.block_offer.requests == 0) sum.block_offer = more.block_offer;
  sum.slowest.insert(sum.slowest.end(), more.slowest.begin(), more.slowest.end());
  std::ranges::stable_sort(sum.slowest, std::greater{}, &SlowSample::took);
  sum.slowest.resize(std::min<std::size_t>(sum.slowest.size(), 10));
  const auto some = [&](auto& kept, const auto& next, std::size_t most) {
    const std::size_t room = most - std::min(most, kept.size());
    kept.insert(kept.end(), next.begin(), next.begin() + static_cast<std::ptrdiff_t>(std::min(room, next.size())));
  };
  some(sum.last_reads, more.last_reads, 8192);
  some(sum.last_rows, more.last_rows, 8192);
  some(sum.bad, more.bad, 1000);
}

}  // namespace penstock
