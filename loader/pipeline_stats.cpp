// Reports on a pipeline: the message of a timeout, and the statistics.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <loader/fetch/block_offer.hpp>
#include <loader/pipeline.hpp>

namespace penstock {
std::string Pipeline::dump() const {
  const auto key_of = [this](const Row& row) { return dataset_.key(selection_.sample(row.sample)); };
  // With a device, the only lent slabs of the host are those that batch_transform kept.
  const unsigned lent = std::max(slabs_->lent(), stages_.back()->pool().lent());
  std::string text;
  for (const auto& stage : stages_) text += stage->level() + ", ";
  text += std::to_string(slabs_->free_slabs()) + " of " + std::to_string(slabs_->made()) + " slabs free, " +
          std::to_string(lent) + " held, " + std::to_string(tasks_.size()) + " tasks queued, engine " +
          std::string(name(engine_.engine->kind()));
  for (const auto& builder : builders_) {
    if (builder->in_progress() && builder->generation() == reorder_.generation())
      text += "; " + builder->describe(key_of);
  }
  return text;
}

EngineStats Pipeline::reads() const {
  EngineStats all = engine_.engine->stats();
  if (engine_.engine->synchronous()) return all;
  all.busy = std::max(all.busy, tasks_.reading(Clock::now()));
  if (fallback_.engine == nullptr) return all;
  EngineStats of_workers = fallback_.engine->stats();
  of_workers.busy = {};
  return all += of_workers;
}

Counts Pipeline::since_made() const {
  Counts counts;
  counts.reads = reads();
  if (disk_cache_ != nullptr) counts.disk_cache = disk_cache_->stats();
  if (on_device_.direct.reads != nullptr) counts.gpu_direct_bytes = on_device_.direct.reads->bytes();
  if (on_device_.jpeg.jpegs != nullptr) {
    counts.gpu_jpeg_rows = on_device_.jpeg.jpegs->rows();
    counts.gpu_jpeg_refused = on_device_.jpeg.jpegs->refused();
  }
  if (servers_ != nullptr) counts.served = servers_->counts();
  counts.blocks_undone = blocks_.made();
  counts.cache = cache_.stats();
  counts.checks = checks_.stats();
  return counts;
}

const BlockOffer& Pipeline::block_offered() const {
  std::call_once(figures_.offer_made, [this] {
    if (!engine_.engine->synchronous())
      figures_.offer = block_offer(dataset_, program(), order_options(options_), engine_options(options_), selection_);
  });
  return figures_.offer;
}

Steps Pipeline::steps() const {
  require_same_process();
  return recorder_.stalls().steps();
}

void Pipeline::reset_stats() {
  require_same_process();
  recorder_.reset();
  for (const auto& stage : stages_) stage->reset_stats();
  if (scaling_) scaling_->decides.reset(Clock::now());
  {
    const std::scoped_lock lock(consumer_.mutex);
    consumer_.failures.reset_report();
  }
  const std::scoped_lock lock(figures_.mutex);
  figures_.before = since_made();
}

WorkDone Pipeline::work_done() const {
  Stats consumer;
  recorder_.stalls().report(consumer);
  WorkDone done{.samples = consumer.samples,
                .waited = consumer.data_wait,
                .worked = recorder_.clocks().read.busy.get() + recorder_.clocks().decode.busy.get() +
                          recorder_.clocks().transform.busy.get() + reorder_.clock().busy.get()};
  const WorkerRecord::Cores cores = recorder_.cores();
  done.on_cores = cores.on;
  done.awaited_cores = cores.waited;
  return done;
}

// A thread of the parent may hold a lock of the figures during fork(), which stays locked in the child.
Stats Pipeline::stats() const {
  require_same_process();
  Stats stats;
  {
    const std::scoped_lock lock(figures_.mutex);
    static_cast<Counts&>(stats) = since_made();
    subtract(stats, figures_.before);
  }
  stats.rank = options_.rank;
  stats.world = options_.world_size;
  recorder_.report(stats, program().outputs(), [this](std::uint64_t sample) { return dataset_.key(sample); });
  {
    const std::scoped_lock lock(consumer_.mutex);
    consumer_.failures.report(stats);
  }
  stats.excluded_samples = selection_.excluded;
  stats.engine = engine_.engine->kind();
  stats.engine_reason = engine_.reason;
  if (disk_cache_ != nullptr) stats.disk_cache_dir = disk_cache_->path().string();
  stats.sharing_name = options_.sharing.name;
  if (servers_ != nullptr) stats.servers = servers_->report();
  stats.block_offer = block_offered();
  stats.epochs = consumer_.epochs_over.load(std::memory_order_relaxed);
  stats.bytes_read = stats.reads.bytes + stats.gpu_direct_bytes;
  stats.workers_now = tasks_.callable();
  stats.workers_max = options_.max_workers;
  const unsigned workers =
      scaling_ ? std::max(1U, static_cast<unsigned>(std::lround(scaling_->decides.average(Clock::now()))))
               : options_.workers;
  stats.workers = workers;
  stats.slabs = slabs_->made();
  stats.slab_bytes = slabs_->bytes();
  stats.held_max_bytes = stages_.back()->pool().bytes_to_add();
  stats.staging = slabs_->staging();
  stats.gpu_direct = on_device_.direct.said;
  stats.gpu_jpeg = on_device_.jpeg.said;
  if (on_device_.jpeg.jpegs != nullptr) stats.device_bytes = on_device_.jpeg.jpegs->bytes();
  stats.window_bytes = window_.reserved();
  stats.block_cache_bytes = blocks_.bytes();
  stats.cache_kind = options_.cache.kind;
  stats.checksums = options_.checksums;
  stats.notes = notes_.options;
  {
    const std::scoped_lock lock(notes_.mutex);
    const std::string of_cache = disk_cache_ != nullptr ? disk_cache_->note() : notes_.disk_cache;
    for (const std::string& note : {notes_.restored, notes_.workers, of_cache})
      if (!note.empty()) stats.notes += (stats.notes.empty() ? "" : "; ") + note;
  }
  for (const std::string& note : {consumer_.publisher.note(), cache_.note()})
    if (!note.empty()) stats.notes += (stats.notes.empty() ? "" : "; ") + note;
  const unsigned readers = engine_.engine->synchronous() ? workers : engine_.engine->threads();
  const std::array threads{1U, readers, workers, workers};
  for (std::size_t i = 0; i < threads.size(); ++i)
    stats.stages.push_back(recorder_.clocks().all()[i]->row(StageClocks::kNames[i], threads[i]));
  if (!engine_.engine->synchronous()) stats.stages[1].busy += stats.reads.busy;
  for (const auto& stage : stages_) stage->report(stats);
  return stats;
}

}  // namespace penstock
