#include <algorithm>
#include <nlohmann/json.hpp>

#include <bench/measure/units.hpp>
#include <bench/report/counters_json.hpp>
#include <bench/report/gain_json.hpp>
#include <bench/report/report.hpp>
#include <record/time/rates.hpp>
#include <transforms/simd_targets.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

Json machine_json(const BenchReport& report) {
  const Machine& machine = report.machine;
  Json json{{"cpu", machine.cpu},
            {"simd", simd_text()},
            {"cores", machine.cores_online},
            {"usable_cores", machine.cores_usable},
            {"memory_bytes", machine.memory_total},
            {"kernel", machine.kernel},
            {"file_system", report.file_system},
            {"io_uring", machine.io_uring}};
  for (const auto& [library, version] : machine.libraries) json["libraries"][library] = version;
  return json;
}

Json split_json(const StallSplit& split) {
  return {{"step_s", split.step()},
          {"compute_s", split.compute()},
          {"prep_stall_s", split.prep_stall()},
          {"fetch_stall_s", split.cold ? Json(split.fetch_stall()) : Json(nullptr)},
          {"instant_step_s", split.instant},
          {"cached_step_s", split.cached},
          {"cold_step_s", split.cold ? Json(*split.cold) : Json(nullptr)},
          {"cached_share", split.cached_share},
          {"cold_share", split.cold_share},
          {"rounds", split.rounds},
          {"notes", split.notes}};
}

Json accelerator_json(const SweepResult& result) {
  const EmulatedAccelerator* accelerator = result.accelerator;
  if (accelerator == nullptr) return nullptr;
  return {
      {"name", accelerator->name},
      {"batch_size", accelerator->batch_size},
      {"step_s", seconds(accelerator->step)},
      {"least_utilisation", accelerator->least_utilisation},
      {"fed_by_loader_alone", result.limits ? Json(accelerator->fed_by(result.limits->loader_alone)) : Json(nullptr)}};
}

Json store_json(const Stats& stats) {
  Json json = counters_json("store", stats);
  const StoreRates rates = store_rates(stats);
  json["requests_per_s"] = rates.requests_per_s;
  json["mb_per_s"] = rates.bytes_per_s / 1e6;
  return json;
}

Json disk_cache_json(const Stats& stats) {
  Json json{{"dir", stats.disk_cache_dir}};
  json.update(counters_json("disk_cache", stats));
  return json;
}

Json row_json(const BenchReport& report, const BenchRow& row) {
  const ReportedSubject& subject = report.subject_of(row);
  Json json{{"dataset", subject.dataset.path},
            {"format", subject.dataset.format},
            {"task", subject.task},
            {"workers", row.setting.workers},
            {"prefetch", row.setting.prefetch},
            {"batch_size", row.setting.batch_size},
            {"engine", row.engine},
            {"engine_reason", row.engine_reason},
            {"cache", row.warm() ? "warm" : "cold"},
            {"samples_per_s", row.samples_per_s.median},
            {"mb_per_s", row.mb_per_s},
            {"first_batch_ms", row.first_batch_ms},
            {"data_wait_percent", row.data_wait_percent},
            {"peak_rss_mb", row.peak_memory_mb},
            {"efficiency", row.efficiency ? Json(row.efficiency->median) : Json(nullptr)},
            {"digest", row.digest ? Json(hex(*row.digest)) : Json(nullptr)}};
  Json stages = Json::object();
  for (const StageStats& stage : row.stats.stages)
    stages[stage.name] = {{"busy_s", seconds(stage.busy)},
                          {"input_wait_s", seconds(stage.input_wait)},
                          {"room_wait_s", seconds(stage.room_wait)},
                          {"threads", stage.threads}};
  json["stages"] = std::move(stages);
  if (reads_store(row.stats)) json["store"] = store_json(row.stats);
  if (has_disk_cache(row.stats)) json["disk_cache"] = disk_cache_json(row.stats);
  Json waits = Json::object();
  for (const auto& [stage, time] : row.stats.data_wait_by_stage) waits[stage] = seconds(time);
  json["data_wait_by_stage_s"] = std::move(waits);
  const Verdict& verdict = row.verdict;
  json["verdict"] = {{"binds", name(verdict.binds)},
                     {"stage", verdict.stage},
                     {"output", verdict.output},
                     {"data_wait", verdict.data_wait},
                     {"text", verdict.text}};
  const bool fed = verdict.binds == Binds::nothing || verdict.binds == Binds::consumer;
  json["bottleneck"] = fed ? "consumer" : verdict.stage;
  json["consumer"] = report.consumer;
  json["samples_per_s_quartiles"] = {row.samples_per_s.low, row.samples_per_s.high};
  json["efficiency_quartiles"] =
      row.efficiency ? Json::array({row.efficiency->low, row.efficiency->high}) : Json(nullptr);
  json["loop_samples_per_s"] = row.efficiency ? Json(row.loop_samples_per_s) : Json(nullptr);
  json["resident_share"] = row.resident_share;
  json["rounds"] = row.rounds;
  json["samples"] = row.samples;
  json["seconds"] = row.seconds;
  const auto with_device = [&](Json value) { return row.device.empty() ? Json(nullptr) : std::move(value); };
  json["device"] = with_device(row.device);
  json["staging"] = with_device(row.staging);
  json["copied_mb"] = with_device(row.copied_mb);
  json["copy_gb_per_s"] = with_device(row.copy_gb_per_s);
  json["plain_copy_gb_per_s"] = row.plain_copy_gb_per_s > 0 ? Json(row.plain_copy_gb_per_s) : Json(nullptr);
  json["notes"] = row.notes;
  json["pinned"] = row.pinned;
  json["epoch_data_wait_s"] = report.epoch_data_wait_s(row);
  json["epoch_step_s"] = report.epoch_step_s(row);
  json["accelerator_utilisation"] = row.accelerator_utilisation ? Json(*row.accelerator_utilisation) : Json(nullptr);
  json["stall_split"] = row.stall_split ? split_json(*row.stall_split) : Json(nullptr);
  return json;
}

Json advice_json(const BenchReport& report) {
  Json all = Json::array();
  const std::vector<const BenchRow*> rows = report.fastest();
  for (std::size_t i = 0; i < std::min(rows.size(), report.advice.size()); ++i) {
    const Advice& advice = report.advice[i];
    Json json{{"dataset", report.subject_of(*rows[i]).dataset.path},
              {"task", report.subject_of(*rows[i]).task},
              {"workers", rows[i]->setting.workers},
              {"prefetch", rows[i]->setting.prefetch},
              {"batch_size", rows[i]->setting.batch_size},
              {"gains", Json::array()}};
    for (const Gain& gain : advice.gains) json["gains"].push_back(json_of(gain));
    json["untold"] = advice.untold;
    if (advice.elsewhere)
      json["elsewhere"] = {{"machine", advice.elsewhere->machine},
                           {"workers", advice.elsewhere->workers},
                           {"samples_per_s", advice.elsewhere->outlook.samples_per_s},
                           {"limit", advice.elsewhere->outlook.limit}};
    all.push_back(std::move(json));
  }
  return all;
}

Json report_json(const BenchReport& report) {
  Json json{{"penstock", PENSTOCK_VERSION},
            {"machine", machine_json(report)},
            {"dataset", Json::parse(to_json(report.subjects.front().dataset))}};
  json["datasets"] = Json::array();
  for (const ReportedSubject& subject : report.subjects)
    json["datasets"].push_back(Json::parse(to_json(subject.dataset)));
  json["rows"] = Json::array();
  for (const BenchRow& row : report.result.rows) json["rows"].push_back(row_json(report, row));
  const auto& trace = report.result.trace;
  json["trace"] = trace ? Json{{"file", trace->file.string()}, {"events", trace->events}, {"dropped", trace->dropped}}
                        : Json(nullptr);
  const auto& limits = report.result.limits;
  json["limits"] = {{"consumer_alone_samples_per_s", limits ? Json(limits->consumer_alone) : Json(nullptr)},
                    {"loader_alone_samples_per_s", limits ? Json(limits->loader_alone) : Json(nullptr)}};
  json["advice"] = advice_json(report);
  json["accelerator"] = accelerator_json(report.result);
  return json;
}

std::string text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const BenchReport& report) {
  return text(report_json(report));
}

std::string to_json(const BenchReport& report, const TuneResult& tuned) {
  Json json = report_json(report);
  json["best"] = row_json(report, tuned.best);
  json["settings"] = tuned.settings;
  json["reason"] = tuned.reason;
  json["cpp_line"] = tuned.cpp_line;
  json["python_line"] = tuned.python_line;
  return text(json);
}

}  // namespace penstock
