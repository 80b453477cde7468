#include <algorithm>
#include <span>
#include <string>

#include <record/watch/figures.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 7> kStageNames{"plan",    "read",     "decode", "transform",
                                                      "deliver", "own_step", "copy"};

std::uint64_t word(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
}

}  // namespace

std::string_view name(StageKind kind) {
  return kStageNames[static_cast<std::size_t>(kind)];
}

StageKind stage_kind(std::string_view stage) {
  const auto found = std::ranges::find(kStageNames, stage);
  return found == kStageNames.end() ? StageKind::own_step : static_cast<StageKind>(found - kStageNames.begin());
}

std::uint64_t Figures::memory() const {
  return slab_bytes + window_bytes + block_cache_bytes + cache_bytes;
}

double Figures::waited() const {
  return wall == 0 ? 0 : static_cast<double>(consumer_wait) / static_cast<double>(wall);
}

Figures figures_of(const Stats& stats) {
  Figures figures;
  figures.rank = stats.rank;
  figures.world = stats.world;
  figures.samples = stats.samples;
  figures.batches = stats.batches;
  figures.bytes_read = stats.bytes_read;
  figures.stored_bytes = stats.stored_bytes;
  figures.bytes_delivered = stats.bytes_delivered;
  figures.wall = word(stats.wall);
  figures.first_batch = word(stats.first_batch);
  figures.consumer_wait = word(stats.consumer_wait);
  figures.consumer_busy = word(stats.consumer_busy);
  figures.batches_taken = stats.batches_taken;
  figures.batches_ready = stats.batches_ready;
  for (const StageStats& stage : stats.stages) {
    if (figures.stage_count == Figures::kStages) break;
    StageFigures& one = figures.stages[figures.stage_count++];
    one = {.kind = stage_kind(stage.name),
           .threads = stage.threads,
           .busy = word(stage.busy),
           .stalled_in = word(stage.stalled_in),
           .stalled_out = word(stage.stalled_out)};
    const auto wait = std::ranges::find(stats.waited_for, stage.name, [](const auto& entry) { return entry.first; });
    if (wait != stats.waited_for.end()) one.waited_for = word(wait->second);
  }
  if (!stats.levels.empty()) {
    const Levels& now = stats.levels.back();
    figures.ready = now.ready;
    figures.free_slabs = now.free_slabs;
    figures.tasks = now.tasks;
    figures.reading = now.reading;
  }
  figures.workers = stats.workers_now;
  figures.workers_observed = stats.workers_observed;
  figures.requests = stats.reads.requests;
  figures.opens = stats.reads.opens;
  figures.retries = stats.reads.retries;
  figures.slabs = stats.slabs;
  figures.slab_bytes = stats.slab_bytes;
  figures.window_bytes = stats.window_bytes;
  figures.block_cache_bytes = stats.block_cache_bytes;
  figures.cache_bytes = stats.cache.used;
  figures.device_slabs = stats.device_slabs;
  figures.device_bytes = stats.device_bytes;
  figures.copied_bytes = stats.copied_bytes;
  figures.bad_samples = stats.bad_samples;
  const Verdict verdict = verdict_of(stats);
  figures.binds = static_cast<std::uint64_t>(verdict.binds);
  if (!verdict.stage.empty()) figures.binds_stage = static_cast<std::uint64_t>(stage_kind(verdict.stage));
  return figures;
}

bool make_sense(const Figures& figures) {
  const auto known = [](std::uint64_t kind) { return kind < kStageNames.size(); };
  if (figures.stage_count > Figures::kStages || figures.binds > static_cast<std::uint64_t>(Binds::copy)) return false;
  if (figures.binds_stage != Figures::kNoStage && !known(figures.binds_stage)) return false;
  return std::ranges::all_of(std::span(figures.stages).first(figures.stage_count),
                             [&](const StageFigures& stage) { return known(static_cast<std::uint64_t>(stage.kind)); });
}

std::string binds_text(const Figures& figures) {
  std::string text(name(static_cast<Binds>(figures.binds)));
  if (figures.binds_stage != Figures::kNoStage)
    text += ": " + std::string(name(static_cast<StageKind>(figures.binds_stage)));
  return text;
}

}  // namespace penstock
