// Joins the stages of a loader in the order that bytes travel, and serves its consumer from their end.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <unistd.h>

#include <base/cores.hpp>
#include <loader/batch/reorder_buffer.hpp>
#include <loader/batch/stage.hpp>
#include <loader/device/device_copy.hpp>
#include <loader/device/device_offload.hpp>
#include <loader/fetch/scheduler.hpp>
#include <loader/prepare.hpp>
#include <loader/work/auto_workers.hpp>
#include <loader/work/batch_mixer.hpp>
#include <loader/work/failures.hpp>
#include <loader/work/worker.hpp>
#include <order/cursor.hpp>
#include <order/selection.hpp>
#include <penstock/explain.hpp>
#include <penstock/options.hpp>
#include <penstock/state.hpp>
#include <penstock/trace.hpp>
#include <record/ledger/writer.hpp>
#include <record/time/level_log.hpp>
#include <record/time/stall_attribution.hpp>
#include <record/time/trace_file.hpp>
#include <record/time/trace_log.hpp>
#include <record/watch/publisher.hpp>
#include <storage/disk_cache/planned_cache.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Dataset -> Plan -> ReadEngine -> Worker -> Slab -> stages -> next(). Threads start last and hold a share of this, so
/// that one which never comes back from the kernel leaves what it touches alive. The functions mean what those of
/// `Loader` do.
class Pipeline {
 public:
  Pipeline(Dataset opened, LoaderOptions chosen, const EngineFactory& make_engine);

  /// Throws Error: resource, where a thread cannot be started; stop() then joins those that were.
  static void start(const std::shared_ptr<Pipeline>& pipeline);
  /// False where a thread is left behind: what it may still touch must then live on.
  bool stop();
  bool in_its_process() const;

  std::optional<Batch> next(const std::function<void()>& while_waiting,
                            const std::function<void(const Batch&)>& hand_over);
  void go_to(const Position& position);
  void set_epoch(std::uint64_t epoch);
  void begin_epoch();
  LoaderState state();
  std::string restore(const LoaderState& saved);
  Batch at(std::uint64_t epoch, std::uint64_t number);
  RowAccount explain(const Batch& batch, std::uint32_t row) const;
  Stats stats() const;
  void reset_stats();
  void mark_step();
  Steps steps() const { return stalls_.steps(); }
  void trace(const std::filesystem::path& file, const TraceOptions& options);
  TraceSummary end_trace();
  bool tracing() const { return trace_file_.has_value(); }

  const Dataset& dataset() const { return dataset_; }
  const LoaderOptions& options() const { return options_; }
  const Cursor& cursor() const { return cursor_; }
  /// What batches pass between the workers and next(), in that order. There is at least one.
  std::span<const std::unique_ptr<Stage>> stages() const { return stages_; }

 private:
  template <typename Kind>
  Kind& add(std::unique_ptr<Kind> stage);
  void lay_line();
  std::shared_ptr<SlabPool> host_slabs() const;
  std::shared_ptr<DevicePool> device_slabs() const;

  /// A thread has ended with that failure: what next() throws from now on. Any thread.
  void fail(const std::exception_ptr& failure) noexcept;
  ReadEngine& direct_engine() { return fallback_.engine != nullptr ? *fallback_.engine : *engine_.engine; }
  /// Of the batches as the reader gets them.
  const Program& whole_program() const { return programs_.whole ? *programs_.whole : program_; }
  /// Codecs, transforms, mixes, and who decodes: part of a state.
  std::string version() const;
  Plan plan_of(const Position& at) const;  ///< of the epoch, from its start
  /// A batch filled in the calling thread, in memory of its own. `of_device`: what is left to the device of it. Throws
  /// what filling it throws.
  BatchResult filled_here(const Position& at, const Plan& plan, const DeviceShare& of_device);
  BatchResult filled_by_host(const Batch& batch);

  void require_same_process() const;
  /// Throws Error: corrupt, when the batch that was taken last has bad samples, and the epoch by then more than it may.
  void require_few_failures(bool has_bad);
  /// Memory for a batch more than the consumer holds. Throws Error: resource, when it holds all it may, or when there
  /// is no such memory.
  void require_room();
  /// `while_waiting`, when not empty, is called now and then meanwhile, and may throw.
  BatchResult await(const std::function<void()>& while_waiting);
  std::optional<BatchResult> take(const std::function<void()>& while_waiting);
  void report_rows(Stats& stats) const;
  Levels look() const;
  void adjust_workers(Clock::time_point now);  ///< to what the last second or so says
  WorkDone work_done() const;
  void traced_step();  ///< a step of the trace's schedule begins
  std::string dump() const;
  /// What was read since the loader was made. `busy`: time in which reads were under way, or of all of the engine's
  /// threads inside them, where that is more; without what workers read themselves, whose clocks have it.
  EngineStats reads() const;
  /// The counters whose owners never reset them.
  Counts since_made() const;
  const BlockOffer& block_offered() const;  ///< looked at when it is first asked for

  const Dataset dataset_;
  LoaderOptions options_;  // constant once the pipeline is made
  const Programs programs_;
  const Program& program_ = programs_.workers;
  const GpuDirect direct_;
  const GpuJpeg jpeg_;
  const DeviceShare share_;
  const BatchMixer mixer_;
  const Selection selection_;
  const PlanOptions plan_options_;
  const std::string option_notes_;
  Cursor cursor_;                  // consumer's thread alone
  bool iterating_ = false;         // a `for` is under way; consumer's thread alone
  bool restored_ = false;          // no batch was taken since restore(); consumer's thread alone
  std::string restore_note_;       // of the state that was restored last
  mutable std::mutex note_mutex_;  // guards restore_note_: stats() may come from another thread
  mutable StageClocks clocks_;     // sums that any thread may add to
  std::string node_cache_note_;    // why there is none, where one was asked for; constant once the pipeline is made
  const std::shared_ptr<PlannedCache> node_cache_;
  ChosenEngine engine_, fallback_;
  FieldHeaders headers_{dataset_};
  SampleCache cache_;
  ValueChecks checks_;
  FetchFrom from_{.dataset = dataset_,  // constant once there are slabs
                  .program = program_,
                  .headers = headers_,
                  .cache = cache_.on() ? &cache_ : nullptr,
                  .checks = checks_.on() ? &checks_ : nullptr,
                  .by_page = engine_.engine->kind() != EngineKind::gather,
                  .unreadable = options_.unreadable};
  BlockCache blocks_;
  ReadWindow window_;
  RowTaskPool row_tasks_;
  TaskQueue tasks_;
  TraceLog trace_;
  WorkLog scheduler_log_;
  WorkLogs worker_logs_;
  WorkerRecords worker_records_;
  mutable ReadRecord read_record_{&trace_.requests()};  // any thread may add to it
  const std::shared_ptr<SlabPool> slabs_;
  std::vector<std::unique_ptr<BatchBuilder>> builders_;
  Failures failures_;
  mutable std::mutex failures_mutex_;  // guards failures_: stats() may come from another thread
  StallAttribution stalls_;
  LevelLog levels_;
  Publisher publisher_;
  std::optional<LedgerWriter> ledger_;   // consumer's thread alone, but for its making
  std::optional<TraceFile> trace_file_;  // of a trace that is under way; this and the rest: consumer's thread alone
  std::optional<Schedule> trace_schedule_;
  std::optional<std::uint64_t> trace_step_;
  bool marks_steps_ = false;
  std::optional<AutoWorkers> auto_workers_;  // decides; this thread alone follows it
  std::optional<IdleCores> idle_cores_;
  std::weak_ptr<Pipeline> self_;    // that its threads hold
  std::string workers_note_;        // guarded by note_mutex_
  mutable std::mutex reset_mutex_;  // guards before_reset_: stats() may come from another thread
  Counts before_reset_;             // since_made() at the last reset_stats()
  mutable std::once_flag block_offer_once_;
  mutable BlockOffer block_offer_;
  std::atomic<std::uint64_t> epochs_over_{0};
  std::vector<std::unique_ptr<Stage>> stages_;
  ReorderBuffer& reorder_;  // the first of them
  std::atomic<unsigned> workers_observed_{0};
  WorkerContext context_{.dataset = dataset_,
                         .program = program_,
                         .options = options_,
                         .selection = selection_,
                         .from = from_,
                         .direct = direct_engine(),
                         .blocks = blocks_,
                         .cache = cache_,
                         .mixer = mixer_,
                         .window = window_,
                         .row_tasks = row_tasks_,
                         .tasks = tasks_,
                         .reorder = reorder_,
                         .slabs = *slabs_,
                         .clocks = clocks_,
                         .scheduler_log = scheduler_log_,
                         .worker_logs = worker_logs_,
                         .worker_records = worker_records_,
                         .reads = read_record_,
                         .trace = trace_,
                         .workers_observed = workers_observed_};
  std::unique_ptr<Scheduler> scheduler_;
  std::stop_source stopping_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<Thread> scheduler_thread_;
  const pid_t process_ = ::getpid();
};

}  // namespace penstock
