// Reports on a pipeline: in the message of a timeout, and in figures.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <loader/fetch/block_offer.hpp>
#include <loader/pipeline.hpp>
#include <transforms/output.hpp>

namespace penstock {
std::string Pipeline::dump() const {
  const auto key_of = [this](const Row& row) { return dataset_.key(selection_.sample(row.sample)); };
  // With a device, slabs of the host are only those that the user's own step kept.
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
  if (node_cache_ != nullptr) counts.node_cache = node_cache_->stats();
  if (direct_.reads != nullptr) counts.gpu_direct_bytes = direct_.reads->bytes();
  if (jpeg_.jpegs != nullptr) {
    counts.gpu_jpeg_rows = jpeg_.jpegs->rows();
    counts.gpu_jpeg_refused = jpeg_.jpegs->refused();
  }
  counts.blocks_undone = blocks_.made();
  counts.cache = cache_.stats();
  counts.checks = checks_.stats();
  return counts;
}

const BlockOffer& Pipeline::block_offered() const {
  std::call_once(block_offer_once_, [this] {
    if (!engine_.engine->synchronous())
      block_offer_ = block_offer(dataset_, program_, order_options(options_), engine_options(options_), selection_);
  });
  return block_offer_;
}

void Pipeline::reset_stats() {
  for (StageClock* clock : clocks_.all()) clock->reset();
  for (const auto& stage : stages_) stage->reset_stats();
  for (const auto& record : worker_records_) record->reset();
  read_record_.reset();
  levels_.reset();
  stalls_.reset(Clock::now());
  if (auto_workers_) auto_workers_->reset(Clock::now());
  {
    const std::scoped_lock lock(failures_mutex_);
    failures_.reset_report();
  }
  const std::scoped_lock lock(reset_mutex_);
  before_reset_ = since_made();
}

// What the workers' records say of rows.
void Pipeline::report_rows(Stats& stats) const {
  const auto sum = [&](const char* name, auto distribution) {
    Distribution all;
    for (const auto& record : worker_records_) all += distribution(*record);
    stats.histograms.emplace_back(name, all);
  };
  sum("sample", [](const WorkerRecord& record) { return record.work(); });
  sum("read", [](const WorkerRecord& record) { return record.read(); });
  sum("decode", [](const WorkerRecord& record) { return record.decode(); });
  sum("transform", [](const WorkerRecord& record) { return record.transform(); });
  const std::span<const Output> outputs = program_.outputs();
  for (const Output& output : outputs) stats.outputs.push_back({.name = output.name});
  SlowestRows slowest;
  for (const auto& record : worker_records_) {
    record->add_slowest(slowest);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const FillTimes spent = record->output(i);
      stats.outputs[i].decode += spent.decode;
      stats.outputs[i].transform += spent.transform;
    }
    const WorkerRecord::Cores cores = record->cores();
    stats.workers_on_cores += cores.on;
    stats.workers_await_cores += cores.waited;
  }
  constexpr std::size_t kRows = 1024;
  const std::size_t of_worker = (kRows + worker_records_.size() - 1) / worker_records_.size();
  for (const auto& record : worker_records_) record->add_last(of_worker, stats.last_rows);
  for (const RowTime& row : slowest.rows()) {
    stats.slowest.push_back({.key = std::string(dataset_.key(row.sample)),
                             .output = outputs.empty() ? "" : outputs[row.output].name,
                             .sample = row.sample,
                             .epoch = row.epoch,
                             .bytes = row.bytes,
                             .read = row.read,
                             .decode = row.decode,
                             .transform = row.transform});
  }
}

WorkDone Pipeline::work_done() const {
  Stats consumer;
  stalls_.report(consumer);
  WorkDone done{.samples = consumer.samples,
                .waited = consumer.consumer_wait,
                .worked = clocks_.read.busy.get() + clocks_.decode.busy.get() + clocks_.transform.busy.get() +
                          reorder_.clock().busy.get()};
  for (const auto& record : worker_records_) {
    const WorkerRecord::Cores cores = record->cores();
    done.on_cores += cores.on;
    done.awaited_cores += cores.waited;
  }
  return done;
}

Stats Pipeline::stats() const {
  Stats stats;
  {
    const std::scoped_lock lock(reset_mutex_);
    static_cast<Counts&>(stats) = since_made();
    subtract(stats, before_reset_);
  }
  stats.rank = options_.rank;
  stats.world = options_.world;
  stalls_.report(stats);
  {
    const std::scoped_lock lock(failures_mutex_);
    failures_.report(stats);
  }
  stats.excluded_samples = selection_.excluded;
  stats.engine = engine_.engine->kind();
  stats.engine_reason = engine_.reason;
  if (node_cache_ != nullptr) stats.node_cache_dir = node_cache_->path().string();
  stats.block_offer = block_offered();
  stats.epochs = epochs_over_.load(std::memory_order_relaxed);
  stats.bytes_read = stats.reads.bytes + stats.gpu_direct_bytes;
  report_rows(stats);
  stats.histograms.emplace_back("request", read_record_.latency());
  stats.histograms.emplace_back("reads together", read_record_.concurrency());
  stats.last_reads = read_record_.last();
  stats.levels = levels_.all();
  stats.workers_now = tasks_.callable();
  stats.workers_max = options_.workers_max;
  const unsigned workers = auto_workers_
                               ? std::max(1U, static_cast<unsigned>(std::lround(auto_workers_->average(Clock::now()))))
                               : options_.workers;
  stats.workers = workers;
  stats.workers_observed = workers_observed_.load(std::memory_order_relaxed);
  stats.slabs = slabs_->made();
  stats.slab_bytes = slabs_->bytes();
  stats.held_max_bytes = stages_.back()->pool().bytes_to_add();
  stats.staging = slabs_->staging();
  stats.gpu_direct = direct_.said;
  stats.gpu_jpeg = jpeg_.said;
  if (jpeg_.jpegs != nullptr) stats.device_bytes = jpeg_.jpegs->bytes();
  stats.window_bytes = window_.reserved();
  stats.block_cache_bytes = blocks_.bytes();
  stats.cache_kind = options_.cache;
  stats.checksums = options_.checksums;
  stats.notes = option_notes_;
  {
    const std::scoped_lock lock(note_mutex_);
    const std::string of_cache = node_cache_ != nullptr ? node_cache_->note() : node_cache_note_;
    for (const std::string& note : {restore_note_, workers_note_, of_cache})
      if (!note.empty()) stats.notes += (stats.notes.empty() ? "" : "; ") + note;
  }
  for (const std::string& note : {publisher_.note(), cache_.note()})
    if (!note.empty()) stats.notes += (stats.notes.empty() ? "" : "; ") + note;
  const unsigned readers = engine_.engine->synchronous() ? workers : engine_.engine->threads();
  const std::array threads{1U, readers, workers, workers};
  for (std::size_t i = 0; i < threads.size(); ++i)
    stats.stages.push_back(clocks_.all()[i]->row(StageClocks::kNames[i], threads[i]));
  if (!engine_.engine->synchronous()) stats.stages[1].busy += stats.reads.busy;
  for (const auto& stage : stages_) stage->report(stats);
  return stats;
}

}  // namespace penstock
