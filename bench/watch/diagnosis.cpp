#include <algorithm>
#include <span>

#include <base/amounts.hpp>
#include <bench/measure/units.hpp>
#include <bench/watch/diagnosis.hpp>

namespace penstock {
namespace {

std::string_view remedy(Binds binds) {
  switch (binds) {
    case Binds::unknown:
      return "No single stage explains half of the waits.";
    case Binds::start_up:
      return "The loader has delivered too few batches for a diagnosis.";
    case Binds::nothing:
      return "The loader keeps up.";
    case Binds::consumer:
      return "The loader keeps up, and could deliver at least twice as much.";
    case Binds::plan:
      return "The scheduler thread is the bottleneck: use larger batches or fewer outputs.";
    case Binds::storage_bandwidth:
      return "The bandwidth of the storage is the bottleneck: smaller packed files, a cache or faster storage help.";
    case Binds::storage_latency:
      return "The latency of the storage is the bottleneck: more reads at a time or larger reads help.";
    case Binds::files:
      return "Opening files is the bottleneck: pack them, or if they are shards, raise ulimit -n.";
    case Binds::cores:
      return "The cores are the bottleneck: more workers, more cores or smaller images help.";
    case Binds::prefetch:
      return "Single slow samples delay their batches: more prefetch helps.";
    case Binds::memory:
      return "The memory for reads is the bottleneck: a larger read_ahead_bytes helps.";
    case Binds::custom_transform:
      return "A Python function runs in one thread and is the bottleneck: functions of single samples with "
             "python_workers help.";
    case Binds::copy:
      return "Copies to the device are the bottleneck.";
    case Binds::servers:
      return "The servers that fill the batches are the bottleneck: more servers, or more cores for them, help.";
    case Binds::sharing:
      return "The process that builds the shared batches is the bottleneck, or the slowest loader is.";
  }
  return "";
}

// Uses the waits of the whole run, because the bottleneck is also that of the whole run.
std::string waits_text(const Figures& figures) {
  std::string text =
      "Since its start, the training loop waited " + percent_text(figures.data_wait_share()) + " of its time";
  const auto stages = std::span(figures.stages).first(figures.stage_count);
  const auto most = std::ranges::max_element(stages, {}, &StageFigures::data_wait);
  constexpr double kShown = 0.005;
  if (most != stages.end() &&
      static_cast<double>(most->data_wait) >= kShown * static_cast<double>(figures.wall.count()))
    text += ", mostly for the stage " + std::string(name(most->kind));
  return text + ". ";
}

}  // namespace

std::string diagnosis_text(const LoaderUse& use) {
  if (use.state == "stopped") return "A signal or a debugger has stopped the process.";
  if (use.state == "waiting") return "The training loop has waited " + seconds_text(use.for_s) + " for its next batch.";
  if (use.state == "idle") return "The program has not asked for a batch for " + seconds_text(use.for_s) + ".";
  const Figures& figures = use.loader->view.figures;
  const auto binds = static_cast<Binds>(figures.binds);
  if (binds == Binds::start_up) return std::string(remedy(binds));
  return waits_text(figures) + std::string(remedy(binds));
}

}  // namespace penstock
