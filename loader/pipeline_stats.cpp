// Reports on a pipeline: in the message of a timeout, and in figures.
#include <algorithm>
#include <string>

#include <penstock/loader/pipeline.hpp>

namespace penstock {
namespace {

void subtract(EngineStats& stats, const EngineStats& before) {
  stats.requests -= before.requests;
  stats.bytes -= before.bytes;
  stats.reads -= before.reads;
  stats.read_bytes -= before.read_bytes;
  stats.retries -= before.retries;
  stats.busy -= before.busy;
}

}  // namespace

std::string Pipeline::dump() const {
  std::string text = std::to_string(reorder.ready()) + " batches ready, " + std::to_string(slabs->free_slabs()) +
                     " of " + std::to_string(slabs->made()) + " slabs free, " + std::to_string(lent()) + " held, " +
                     std::to_string(tasks.size()) + " tasks queued, engine " + std::string(name(engine.engine->kind()));
  const auto key_of = [this](const Row& row) { return dataset.key(selection.sample(row.sample)); };
  if (batch_stage != nullptr)
    text += ", " + std::to_string(batch_stage->ready()) + " batches done by " + options.on_batch_stage;
  if (device_copy != nullptr)
    text += ", " + std::to_string(device_copy->ready()) + " batches on " + to_string(device->id());
  for (const auto& builder : builders) {
    if (builder->in_progress() && builder->generation() == reorder.generation())
      text += "; " + builder->describe(key_of);
  }
  return text;
}

EngineStats Pipeline::reads() const {
  EngineStats all = engine.engine->stats();
  if (engine.engine->synchronous()) return all;
  all.busy = std::max(all.busy, tasks.reading(Clock::now()));
  if (fallback.engine == nullptr) return all;
  EngineStats of_workers = fallback.engine->stats();
  of_workers.busy = {};
  return all += of_workers;
}

void Pipeline::reset_stats() {
  clocks.reset();
  stalls.reset(Clock::now());
  const std::scoped_lock lock(reads_mutex);
  reads_before = reads();
}

Stats Pipeline::stats() const {
  Stats stats;
  stalls.report(stats);
  {
    const std::scoped_lock lock(failures_mutex);
    failures.report(stats);
  }
  stats.excluded_samples = selection.excluded;
  stats.engine = engine.engine->kind();
  stats.engine_reason = engine.reason;
  stats.reads = reads();
  {
    const std::scoped_lock lock(reads_mutex);
    subtract(stats.reads, reads_before);
  }
  stats.bytes_read = stats.reads.bytes;
  stats.workers = options.workers;
  stats.workers_observed = workers_observed.load(std::memory_order_relaxed);
  stats.slabs = slabs->made();
  stats.slab_bytes = slabs->bytes();
  stats.held_max_bytes = device_slabs == nullptr ? slabs->bytes_to_add() : device_slabs->bytes_to_add();
  stats.staging = slabs->staging();
  if (device != nullptr) {
    stats.device = to_string(device->id()) + ": " + device->description();
    stats.device_slabs = device_slabs->size();
    stats.device_bytes = device_slabs->bytes();
    stats.copied_bytes = clocks.crossed_bytes.load(std::memory_order_relaxed);
    stats.copy_time = clocks.crossing.get();
    stats.gpu_direct = direct.said;
    if (direct.reads != nullptr) stats.gpu_direct_bytes = direct.reads->bytes();
    stats.gpu_jpeg = jpeg.said;
    if (jpeg.jpegs != nullptr) {
      stats.device_bytes += jpeg.jpegs->bytes();
      stats.gpu_jpeg_rows = jpeg.jpegs->rows();
      stats.gpu_jpeg_refused = jpeg.jpegs->refused();
    }
    stats.bytes_read += stats.gpu_direct_bytes;
  }
  stats.window_bytes = window.reserved();
  stats.block_cache_bytes = blocks.bytes();
  stats.blocks_undone = blocks.made();
  stats.cache = cache.stats();
  stats.cache_kind = options.cache;
  stats.checksums = options.checksums;
  stats.checks = checks.stats();
  stats.notes = option_notes;
  {
    const std::scoped_lock lock(note_mutex);
    if (!restore_note.empty()) stats.notes += (stats.notes.empty() ? "" : "; ") + restore_note;
  }
  const unsigned readers = engine.engine->synchronous() ? stats.workers : engine.engine->threads();
  const auto stage = [&](const char* name, unsigned threads, const StageClock& clock) {
    stats.stages.push_back({name, threads, clock.busy.get(), clock.stalled_in.get(), clock.stalled_out.get()});
  };
  stage("plan", 1, clocks.plan);
  stage("read", readers, clocks.read);
  if (!engine.engine->synchronous()) stats.stages.back().busy += stats.reads.busy;
  stage("decode", stats.workers, clocks.decode);
  stage("transform", stats.workers, clocks.transform);
  stage("deliver", stats.workers, clocks.deliver);
  if (batch_stage != nullptr) stage(options.on_batch_stage.c_str(), 1, clocks.on_batch);
  if (device_copy != nullptr) stage("copy", 1, clocks.copy);
  return stats;
}

}  // namespace penstock
