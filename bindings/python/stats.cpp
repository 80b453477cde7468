#include "stats.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <sstream>

#include <penstock/error.hpp>
#include <record/time/rates.hpp>
#include <record/watch/figures.hpp>
#include <record/watch/openmetrics.hpp>

#include "bind.hpp"

namespace penstock::python {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

nb::dict stages(const Stats& stats) {
  nb::dict all;
  for (const StageStats& stage : stats.stages) {
    all[text(stage.name)] = dict_of({{"threads", stage.threads},
                                     {"busy_s", seconds(stage.busy)},
                                     {"input_wait_s", seconds(stage.input_wait)},
                                     {"room_wait_s", seconds(stage.room_wait)}});
  }
  return all;
}

nb::dict waits(const Stats& stats) {
  nb::dict all;
  for (const auto& [stage, time] : stats.data_wait_by_stage) all[text(stage)] = seconds(time);
  return all;
}

void set_counters(nb::dict& all, std::string_view group, const Counts& counts) {
  each_counter(group, [&](const Counter& counter) {
    const std::uint64_t value = counter.get(counts);
    if (counter.unit == Counter::Unit::time)
      all[text(counter.name)] = static_cast<double>(value) / 1e9;
    else
      all[text(counter.name)] = value;
  });
}

nb::dict counters_of(std::string_view group, const Counts& counts) {
  nb::dict all;
  set_counters(all, group, counts);
  return all;
}

nb::dict cache(const Stats& stats) {
  nb::dict all = dict_of({{"kind", name(stats.cache_kind)},
                          {"scope", name(stats.cache.members != 0 ? CacheScope::node : CacheScope::process)}});
  set_counters(all, "cache", stats);
  return all;
}

nb::dict store(const Stats& stats) {
  nb::dict all = counters_of("store", stats);
  const StoreRates rates = store_rates(stats);
  all["requests_per_s"] = rates.requests_per_s;
  all["mb_per_s"] = rates.bytes_per_s / 1e6;
  return all;
}

nb::dict disk_cache(const Stats& stats) {
  nb::dict all;
  all["dir"] = text(stats.disk_cache_dir);
  set_counters(all, "disk_cache", stats);
  return all;
}

nb::dict sharing(const Stats& stats) {
  nb::dict all;
  all["name"] = text(stats.sharing_name);
  set_counters(all, "sharing", stats);
  return all;
}

nb::dict servers(const Stats& stats) {
  nb::dict all;
  nb::list each;
  for (const ServerStats& server : stats.servers)
    each.append(dict_of({{"address", server.address},
                         {"ready", server.ready},
                         {"problem", server.problem},
                         {"batches", server.batches},
                         {"bytes", server.bytes}}));
  all["each"] = each;
  set_counters(all, "servers", stats);
  return all;
}

nb::dict percentiles(const Stats& stats) {
  nb::dict all;
  for (const auto& [name, values] : stats.histograms)
    all[text(name)] = to_python(values, name == "reads together" ? 1 : 1e-9);
  return all;
}

nb::dict outputs(const Stats& stats) {
  nb::dict all;
  for (const OutputStats& output : stats.outputs) {
    all[text(output.name)] =
        dict_of({{"decode_s", seconds(output.decode)}, {"transform_s", seconds(output.transform)}});
  }
  return all;
}

nb::list slowest(const Stats& stats) {
  nb::list all;
  for (const SlowSample& sample : stats.slowest) {
    all.append(dict_of({{"key", sample.key},
                        {"output", sample.output},
                        {"sample", sample.sample},
                        {"epoch", sample.epoch},
                        {"bytes", sample.bytes},
                        {"read_s", seconds(sample.read)},
                        {"decode_s", seconds(sample.decode)},
                        {"transform_s", seconds(sample.transform)}}));
  }
  return all;
}

nb::list levels(const Stats& stats) {
  nb::list all;
  for (const Levels& level : stats.levels) {
    all.append(dict_of({{"ago_s", seconds(stats.levels.back().at - level.at)},
                        {"ready", level.ready},
                        {"free_slabs", level.free_slabs},
                        {"tasks", level.tasks},
                        {"reading_bytes", level.reading}}));
  }
  return all;
}

nb::dict to_python(const StepTime& step) {
  return dict_of({{"data_wait_s", seconds(step.data_wait())},
                  {"data_wait_by_stage_s", dict_of({{"plan", seconds(step.plan)},
                                                    {"read", seconds(step.read)},
                                                    {"decode", seconds(step.decode)},
                                                    {"transform", seconds(step.transform)},
                                                    {"deliver", seconds(step.deliver)},
                                                    {"custom_transform", seconds(step.custom_transform)},
                                                    {"copy", seconds(step.copy)}})},
                  {"compute_s", seconds(step.compute)},
                  {"other_s", seconds(step.other)},
                  {"batches", step.batches}});
}

nb::bytes bytes_of(const Figures& figures) {
  return nb::bytes(reinterpret_cast<const char*>(&figures), sizeof figures);
}

// The version is checked, because stats of another version may have been pickled.
Figures figures_in(const nb::bytes& bytes) {
  Figures figures;
  if (bytes.size() != sizeof figures) throw Error::unsupported("another version of penstock made these stats");
  std::memcpy(&figures, bytes.c_str(), sizeof figures);
  if (!make_sense(figures)) throw Error::corrupt("these stats contain values that no loader reports");
  return figures;
}

nb::dict verdict(const Stats& stats) {
  const Verdict said = verdict_of(stats);
  return dict_of({{"binds", name(said.binds)},
                  {"stage", said.stage},
                  {"output", said.output},
                  {"data_wait", said.data_wait},
                  {"text", said.text}});
}

}  // namespace

nb::list bad_samples(const std::vector<BadSample>& bad) {
  nb::list all;
  for (const BadSample& sample : bad) {
    all.append(dict_of({{"key", sample.key},
                        {"field", sample.field},
                        {"cause", sample.cause},
                        {"sample", sample.sample},
                        {"epoch", sample.epoch}}));
  }
  return all;
}

nb::dict to_python(const Distribution& values, double unit) {
  const auto at = [&](double share) { return static_cast<double>(values.quantile(share)) * unit; };
  return dict_of({{"count", values.count},
                  {"mean", values.mean() * unit},
                  {"p50", at(0.5)},
                  {"p90", at(0.9)},
                  {"p99", at(0.99)},
                  {"max", static_cast<double>(values.max) * unit}});
}

nb::object to_python(const Steps& steps, const nb::object& schedule) {
  nb::list last;
  for (const StepTime& step : steps.last) last.append(to_python(step));
  return nb::module_::import_("penstock._profile.steps")
      .attr("Steps")(steps.first, last, to_python(steps.sum), schedule);
}

nb::object to_python(const Stats& stats) {
  nb::dict all;
  set_counters(all, "", stats);
  add_members(all, {{"data_wait_by_stage_s", waits(stats)},
                    {"verdict", verdict(stats)},
                    {"stages", stages(stats)},
                    {"outputs", outputs(stats)},
                    {"percentiles", percentiles(stats)},
                    {"slowest", slowest(stats)},
                    {"levels", levels(stats)},
                    {"engine", name(stats.engine)},
                    {"engine_reason", stats.engine_reason},
                    {"reads", counters_of("reads", stats)}});
  if (reads_store(stats)) all["store"] = store(stats);
  if (has_disk_cache(stats)) all["disk_cache"] = disk_cache(stats);
  if (!stats.sharing_name.empty()) all["sharing"] = sharing(stats);
  if (!stats.servers.empty()) all["servers"] = servers(stats);
  add_members(all, {{"cache", cache(stats)},
                    {"staging", stats.staging},
                    {"device", stats.device},
                    {"gpu_direct", stats.gpu_direct},
                    {"gpu_jpeg", stats.gpu_jpeg},
                    {"checksums", name(stats.checksums)},
                    {"bad", bad_samples(stats.bad)},
                    {"notes", stats.notes}});
  std::ostringstream table;
  table << stats;
  return nb::module_::import_("penstock._stats").attr("Stats")(all, text(table.str()), bytes_of(figures_of(stats)));
}

nb::list counter_table() {
  constexpr std::array kUnits{"", "bytes", "seconds"};
  constexpr std::array kRules{"counts", "peaks", "stands"};
  nb::list all;
  for (const Counter& counter : counters())
    all.append(nb::make_tuple(text(counter.group), text(counter.name), kUnits[static_cast<std::size_t>(counter.unit)],
                              kRules[static_cast<std::size_t>(counter.rule)], text(counter.meaning),
                              text(counter.metric == Counter::kNoFamily ? std::string() : family_of(counter))));
  return all;
}

std::string metrics_text(const nb::bytes& figures, const std::vector<std::pair<std::string, std::string>>& labels) {
  return openmetrics(std::array{LabelledFigures{.labels = labels, .figures = figures_in(figures)}});
}

}  // namespace penstock::python
