#include <algorithm>
#include <span>
#include <string>

#include <record/watch/figures.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 8> kStageNames{
    "plan", "read", "decode", "transform", "deliver", "custom_transform", "copy", "share"};

std::uint64_t word(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
}

}  // namespace

std::string_view name(StageKind kind) {
  return kStageNames[static_cast<std::size_t>(kind)];
}

StageKind stage_kind(std::string_view stage) {
  const auto found = std::ranges::find(kStageNames, stage);
  return found == kStageNames.end() ? StageKind::custom_transform : static_cast<StageKind>(found - kStageNames.begin());
}

std::uint64_t Figures::memory() const {
  return slab_bytes + window_bytes + block_cache_bytes + cache.used;
}

double Figures::data_wait_share() const {
  return wall.count() == 0 ? 0 : static_cast<double>(data_wait.count()) / static_cast<double>(wall.count());
}

std::vector<std::pair<std::string_view, double>> step_shares(const StepFigures& step) {
  double all = 0;
  for (const StepPart& part : kStepParts) all += static_cast<double>(step.*part.time);
  std::vector<std::pair<std::string_view, double>> shares;
  for (const StepPart& part : kStepParts)
    if (step.*part.time > 0) shares.emplace_back(part.name, static_cast<double>(step.*part.time) / all);
  return shares;
}

Figures figures_of(const Stats& stats) {
  Figures figures;
  static_cast<Counts&>(figures) = stats;
  for (const StageStats& stage : stats.stages) {
    if (figures.stage_count == Figures::kStages) break;
    StageFigures& one = figures.stages[figures.stage_count++];
    one = {.kind = stage_kind(stage.name),
           .threads = stage.threads,
           .busy = word(stage.busy),
           .input_wait = word(stage.input_wait),
           .room_wait = word(stage.room_wait)};
    const auto wait =
        std::ranges::find(stats.data_wait_by_stage, stage.name, [](const auto& entry) { return entry.first; });
    if (wait != stats.data_wait_by_stage.end()) one.data_wait = word(wait->second);
  }
  if (!stats.levels.empty()) {
    const Levels& now = stats.levels.back();
    figures.ready = now.ready;
    figures.free_slabs = now.free_slabs;
    figures.tasks = now.tasks;
    figures.reading = now.reading;
  }
  const Verdict verdict = verdict_of(stats);
  figures.binds = static_cast<std::uint64_t>(verdict.binds);
  if (!verdict.stage.empty()) figures.binds_stage = static_cast<std::uint64_t>(stage_kind(verdict.stage));
  return figures;
}

bool make_sense(const Figures& figures) {
  const auto known = [](std::uint64_t kind) { return kind < kStageNames.size(); };
  if (figures.stage_count > Figures::kStages || figures.binds > static_cast<std::uint64_t>(Binds::sharing))
    return false;
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
