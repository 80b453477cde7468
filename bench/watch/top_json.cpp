#include <algorithm>

#include <base/printable.hpp>
#include <bench/report/counters_json.hpp>
#include <bench/watch/diagnosis.hpp>
#include <bench/watch/ranks.hpp>
#include <bench/watch/top_json.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNegligible = 0.005;  // share of a step

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

// The parts of the training loop's time, as shares: the categories of `penstock run`, or the waits for stages first.
Json step_json(const LoaderUse& use) {
  Json parts = Json::array();
  for (const auto& [part, taken] : use.step) parts.push_back({{"name", part}, {"share", taken}});
  if (!parts.empty()) return parts;
  double rest = use.data_wait;
  for (const LoaderUse::Stage& stage : use.stages) {
    const double wait = std::min(stage.data_wait, rest);
    if (wait >= kNegligible) parts.push_back({{"name", "wait: " + std::string(name(stage.kind))}, {"share", wait}});
    rest -= wait;
  }
  if (rest >= kNegligible) parts.push_back({{"name", "other wait"}, {"share", rest}});
  parts.push_back({{"name", "your program"}, {"share", std::max(0.0, 1 - use.data_wait)}});
  return parts;
}

// The metrics, under their names in loader.stats().
Json json_of(const LoaderUse& use) {
  const WatchedLoader& loader = *use.loader;
  const LivePageName& page = loader.view.page;
  const Figures& figures = loader.view.figures;
  Json json{{"pid", page.process.pid},
            {"loader", page.number},
            {"user", loader.user},
            {"program", loader.program},
            {"here", loader.here},
            {"state", use.state},
            {"for_s", use.for_s},
            {"samples_per_s", use.samples_per_s},
            {"mb_per_s", use.stored_per_s / 1e6},
            {"data_wait", use.data_wait},
            {"step", step_json(use)},
            {"level",
             {{"ready", figures.ready},
              {"free_slabs", figures.free_slabs},
              {"tasks", figures.tasks},
              {"reading_bytes", figures.reading}}}};
  json.update(counters_json("", figures));
  for (const char* group : {"reads", "store", "disk_cache", "cache", "sharing", "servers"})
    json[group] = counters_json(group, figures);
  Json stages = Json::object(), waits = Json::object(), busy = Json::object();
  for (std::size_t i = 0; i < use.stages.size(); ++i) {
    const StageFigures& stage = figures.stages[i];
    const std::string stage_name(name(stage.kind));
    stages[stage_name] = {{"threads", stage.threads},
                          {"busy_s", seconds(stage.busy)},
                          {"input_wait_s", seconds(stage.input_wait)},
                          {"room_wait_s", seconds(stage.room_wait)}};
    waits[stage_name] = seconds(stage.data_wait);
    busy[stage_name] = use.stages[i].busy;
  }
  json["stages"] = stages;
  json["data_wait_by_stage_s"] = waits;
  json["busy"] = busy;
  const bool staged = figures.binds_stage != Figures::kNoStage;
  json["verdict"] = {{"binds", name(static_cast<Binds>(figures.binds))},
                     {"stage", staged ? name(static_cast<StageKind>(figures.binds_stage)) : ""}};
  json["diagnosis"] = diagnosis_text(use);
  json["memory"] = {{"slabs", figures.slab_bytes},
                    {"read_window", figures.window_bytes},
                    {"blocks", figures.block_cache_bytes},
                    {"cache", figures.cache.used},
                    {"device", figures.device_bytes}};
  return json;
}

Json json_of(const Training& training, const std::vector<LoaderUse>& uses) {
  Json ranks = Json::array();  // positions in "loaders"
  for (const LoaderUse* use : training.ranks) ranks.push_back(use - uses.data());
  Json json{{"world", training.world}, {"loaders", ranks}, {"slow", nullptr}, {"text", training.text()}};
  if (training.slow.which) json["slow"] = ranks[*training.slow.which];
  return json;
}

Json json_of(const NodeUse& use) {
  Json json{{"cores", use.cores}, {"cores_busy", use.cores_busy}};
  if (use.quota) json["quota"] = *use.quota;
  if (use.group_busy) json["group_busy"] = *use.group_busy;
  json["disks"] = Json::array();
  for (const NodeUse::Disk& disk : use.disks)
    json["disks"].push_back({{"name", disk.name},
                             {"busy", disk.busy},
                             {"read_bytes_per_s", disk.read_per_s},
                             {"written_bytes_per_s", disk.written_per_s},
                             {"reads_per_s", disk.reads_per_s}});
  json["networks"] = Json::array();
  for (const NodeUse::Network& network : use.networks)
    json["networks"].push_back({{"name", network.name},
                                {"received_bytes_per_s", network.received_per_s},
                                {"sent_bytes_per_s", network.sent_per_s}});
  return json;
}

}  // namespace

Json top_object(const Look& before, const Look& after) {
  Json json;
  json["node"] = json_of(use_between(before.node, after.node));
  json["gpus"] = Json::array();
  for (const GpuUse& gpu : after.gpus)
    json["gpus"].push_back({{"name", one_line(gpu.name)},
                            {"busy", gpu.busy},
                            {"memory_busy", gpu.memory_busy},
                            {"memory_used", gpu.memory_used},
                            {"memory_total", gpu.memory_total}});
  const std::vector<LoaderUse> uses = uses_between(before, after);
  json["loaders"] = Json::array();
  for (const LoaderUse& use : uses) json["loaders"].push_back(json_of(use));
  json["trainings"] = Json::array();
  for (const Training& training : trainings_of(uses)) json["trainings"].push_back(json_of(training, uses));
  json["left_out"] = after.watched.refused;
  return json;
}

std::string top_json(const Look& before, const Look& after) {
  return top_object(before, after).dump(2) + "\n";
}

}  // namespace penstock
