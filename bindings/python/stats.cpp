#include "stats.hpp"

#include <chrono>
#include <sstream>

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
    one["stalled_in_s"] = seconds(stage.stalled_in);
    one["stalled_out_s"] = seconds(stage.stalled_out);
    all[text(stage.name)] = one;
  }
  return all;
}

nb::dict waits(const Stats& stats) {
  nb::dict all;
  for (const auto& [stage, time] : stats.waited_for) all[text(stage)] = seconds(time);
  return all;
}

nb::dict reads(const EngineStats& stats) {
  nb::dict all;
  all["requests"] = stats.requests;
  all["bytes"] = stats.bytes;
  all["reads"] = stats.reads;
  all["read_bytes"] = stats.read_bytes;
  all["retries"] = stats.retries;
  all["busy_s"] = seconds(stats.busy);
  return all;
}

nb::dict cache(const Stats& stats) {
  nb::dict all;
  all["kind"] = text(name(stats.cache_kind));
  all["reserved_bytes"] = stats.cache.reserved;
  all["used_bytes"] = stats.cache.used;
  all["values"] = stats.cache.values;
  all["hits"] = stats.cache.hits;
  all["misses"] = stats.cache.misses;
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

nb::object to_python(const Stats& stats) {
  nb::dict all;
  all["samples"] = stats.samples;
  all["batches"] = stats.batches;
  all["bytes_read"] = stats.bytes_read;
  all["bytes_delivered"] = stats.bytes_delivered;
  all["wall_s"] = seconds(stats.wall);
  all["first_batch_s"] = seconds(stats.first_batch);
  all["consumer_wait_s"] = seconds(stats.consumer_wait);
  all["consumer_busy_s"] = seconds(stats.consumer_busy);
  all["waited_for"] = waits(stats);
  all["stages"] = stages(stats);
  all["engine"] = text(name(stats.engine));
  all["engine_reason"] = text(stats.engine_reason);
  all["reads"] = reads(stats.reads);
  all["workers"] = stats.workers;
  all["workers_observed"] = stats.workers_observed;
  all["slabs"] = stats.slabs;
  all["slab_bytes"] = stats.slab_bytes;
  all["held_max_bytes"] = stats.held_max_bytes;
  all["staging"] = text(stats.staging);
  all["device"] = text(stats.device);
  all["device_slabs"] = stats.device_slabs;
  all["device_bytes"] = stats.device_bytes;
  all["copied_bytes"] = stats.copied_bytes;
  all["copy_s"] = seconds(stats.copy_time);
  all["gpu_direct"] = text(stats.gpu_direct);
  all["gpu_direct_bytes"] = stats.gpu_direct_bytes;
  all["gpu_jpeg"] = text(stats.gpu_jpeg);
  all["gpu_jpeg_rows"] = stats.gpu_jpeg_rows;
  all["gpu_jpeg_refused"] = stats.gpu_jpeg_refused;
  all["window_bytes"] = stats.window_bytes;
  all["cache_bytes"] = stats.block_cache_bytes;
  all["blocks_undone"] = stats.blocks_undone;
  all["cache"] = cache(stats);
  all["checksums"] = text(name(stats.checksums));
  all["checked"] = stats.checks.checked;
  all["checked_bytes"] = stats.checks.checked_bytes;
  all["unchecked"] = stats.checks.unchecked;
  all["unchecked_bytes"] = stats.checks.unchecked_bytes;
  all["checksum_mismatches"] = stats.checks.mismatches;
  all["bad_samples"] = stats.bad_samples;
  all["excluded_samples"] = stats.excluded_samples;
  all["later_failures"] = stats.later_failures;
  all["bad"] = bad_samples(stats.bad);
  all["notes"] = text(stats.notes);
  std::ostringstream table;
  table << stats;
  return nb::module_::import_("penstock._stats").attr("Stats")(all, text(table.str()));
}

}  // namespace penstock::python
