#include "stats.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <sstream>

#include <penstock/error.hpp>
#include <penstock/stats.hpp>
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
    nb::dict one;
    one["threads"] = stage.threads;
    one["busy_s"] = seconds(stage.busy);
    one["input_wait_s"] = seconds(stage.input_wait);
    one["room_wait_s"] = seconds(stage.room_wait);
    all[text(stage.name)] = one;
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
  nb::dict all;
  all["kind"] = text(name(stats.cache_kind));
  all["scope"] = text(name(stats.cache.members != 0 ? CacheScope::node : CacheScope::process));
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

nb::dict node_cache(const Stats& stats) {
  nb::dict all;
  all["dir"] = text(stats.node_cache_dir);
  set_counters(all, "disk_cache", stats);
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
    nb::dict one;
    one["decode_s"] = seconds(output.decode);
    one["transform_s"] = seconds(output.transform);
    all[text(output.name)] = one;
  }
  return all;
}

nb::list slowest(const Stats& stats) {
  nb::list all;
  for (const SlowSample& sample : stats.slowest) {
    nb::dict one;
    one["key"] = text(sample.key);
    one["output"] = text(sample.output);
    one["sample"] = sample.sample;
    one["epoch"] = sample.epoch;
    one["bytes"] = sample.bytes;
    one["read_s"] = seconds(sample.read);
    one["decode_s"] = seconds(sample.decode);
    one["transform_s"] = seconds(sample.transform);
    all.append(one);
  }
  return all;
}

nb::list levels(const Stats& stats) {
  nb::list all;
  for (const Levels& level : stats.levels) {
    nb::dict one;
    one["ago_s"] = seconds(stats.levels.back().at - level.at);
    one["ready"] = level.ready;
    one["free_slabs"] = level.free_slabs;
    one["tasks"] = level.tasks;
    one["reading_bytes"] = level.reading;
    all.append(one);
  }
  return all;
}

nb::dict to_python(const StepTime& step) {
  nb::dict by_stage;
  by_stage["plan"] = seconds(step.plan);
  by_stage["read"] = seconds(step.read);
  by_stage["decode"] = seconds(step.decode);
  by_stage["transform"] = seconds(step.transform);
  by_stage["deliver"] = seconds(step.deliver);
  by_stage["custom_transform"] = seconds(step.custom_transform);
  by_stage["copy"] = seconds(step.copy);
  nb::dict times;
  times["data_wait_s"] = seconds(step.data_wait());
  times["data_wait_by_stage_s"] = by_stage;
  times["compute_s"] = seconds(step.compute);
  times["other_s"] = seconds(step.other);
  times["batches"] = step.batches;
  return times;
}

nb::bytes bytes_of(const Figures& figures) {
  return nb::bytes(reinterpret_cast<const char*>(&figures), sizeof figures);
}

// Another version's stats may have been pickled.
Figures figures_in(const nb::bytes& bytes) {
  Figures figures;
  if (bytes.size() != sizeof figures) throw Error::unsupported("these stats are of another version of penstock");
  std::memcpy(&figures, bytes.c_str(), sizeof figures);
  if (!make_sense(figures)) throw Error::corrupt("these stats cannot be a loader's");
  return figures;
}

nb::dict verdict(const Stats& stats) {
  const Verdict said = verdict_of(stats);
  nb::dict all;
  all["binds"] = text(name(said.binds));
  all["stage"] = text(said.stage);
  all["output"] = text(said.output);
  all["data_wait"] = said.data_wait;
  all["text"] = text(said.text);
  return all;
}

}  // namespace

nb::list bad_samples(const std::vector<BadSample>& bad) {
  nb::list all;
  for (const BadSample& sample : bad) {
    nb::dict one;
    one["key"] = text(sample.key);
    one["field"] = text(sample.field);
    one["cause"] = text(sample.cause);
    one["sample"] = sample.sample;
    one["epoch"] = sample.epoch;
    all.append(one);
  }
  return all;
}

nb::dict to_python(const Distribution& values, double unit) {
  const auto at = [&](double share) { return static_cast<double>(values.quantile(share)) * unit; };
  nb::dict all;
  all["count"] = values.count;
  all["mean"] = values.mean() * unit;
  all["p50"] = at(0.5);
  all["p90"] = at(0.9);
  all["p99"] = at(0.99);
  all["max"] = static_cast<double>(values.max) * unit;
  return all;
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
  all["data_wait_by_stage_s"] = waits(stats);
  all["verdict"] = verdict(stats);
  all["stages"] = stages(stats);
  all["outputs"] = outputs(stats);
  all["percentiles"] = percentiles(stats);
  all["slowest"] = slowest(stats);
  all["levels"] = levels(stats);
  all["engine"] = text(name(stats.engine));
  all["engine_reason"] = text(stats.engine_reason);
  all["reads"] = counters_of("reads", stats);
  if (reads_store(stats)) all["store"] = store(stats);
  if (has_node_cache(stats)) all["disk_cache"] = node_cache(stats);
  all["cache"] = cache(stats);
  all["staging"] = text(stats.staging);
  all["device"] = text(stats.device);
  all["gpu_direct"] = text(stats.gpu_direct);
  all["gpu_jpeg"] = text(stats.gpu_jpeg);
  all["checksums"] = text(name(stats.checksums));
  all["bad"] = bad_samples(stats.bad);
  all["notes"] = text(stats.notes);
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
