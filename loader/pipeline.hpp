// The stages of a loader, joined in the order that bytes travel.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include <sys/types.h>

#include <penstock/loader/batch/batch_stage.hpp>
#include <penstock/loader/batch/device_share.hpp>
#include <penstock/loader/device/device_copy.hpp>
#include <penstock/loader/device/gpu_direct.hpp>
#include <penstock/loader/device/gpu_jpeg.hpp>
#include <penstock/loader/fetch/scheduler.hpp>
#include <penstock/loader/options.hpp>
#include <penstock/loader/plan/cursor.hpp>
#include <penstock/loader/plan/selection.hpp>
#include <penstock/loader/prepare.hpp>
#include <penstock/loader/time/stall_attribution.hpp>
#include <penstock/loader/work/batch_mixer.hpp>
#include <penstock/loader/work/failures.hpp>
#include <penstock/loader/work/worker.hpp>

namespace penstock {

/// Dataset -> Plan -> ReadEngine -> Worker -> Slab -> ReorderBuffer (-> BatchStage) (-> DeviceCopy). Threads start last
/// and hold a share of this, so that one which never comes back from the kernel leaves what it touches alive.
struct Pipeline {
  Pipeline(Dataset opened, LoaderOptions chosen, const Loader::EngineFactory& make_engine);

  ReadEngine& direct_engine() { return fallback.engine != nullptr ? *fallback.engine : *engine.engine; }

  /// Of the batches as the reader gets them.
  const Program& whole_program() const { return programs.whole ? *programs.whole : program; }
  unsigned lent() const;  ///< batches in the consumer's hands
  std::shared_ptr<DevicePool> make_device_pool(unsigned slabs, unsigned held = 0, unsigned more = 0) const;
  DeviceTasks device_tasks();
  /// A batch filled in the calling thread, in memory of its own. `of_device`: what is left to the device of it. Throws
  /// what filling it throws.
  BatchResult filled_here(const Position& at, const Plan& plan, const DeviceShare& of_device);
  Plan plan_of(const Position& at) const;  ///< of the epoch, from its start
  /// Throws Error: resource, where a thread cannot be started; stop() then joins those that were.
  static void start(const std::shared_ptr<Pipeline>& pipeline);
  bool stop();
  /// A thread has ended with that failure: what take() throws from now on. Any thread.
  void fail(const std::exception_ptr& failure) noexcept;
  void go_to(const Position& position);
  void require_same_process() const;
  /// Throws Error: corrupt, when the batch that was taken last has bad samples, and the epoch by then more than it may.
  void require_few_failures(bool has_bad);
  /// Memory for a batch more than the consumer holds. Throws Error: resource, when it holds all it may, or when there
  /// is no such memory.
  void require_room();
  /// `while_waiting`, when not empty, is called now and then meanwhile, and may throw.
  BatchResult await(std::uint64_t number, const std::function<void()>& while_waiting);
  std::optional<BatchResult> take(std::uint64_t number, const std::function<void()>& while_waiting);
  std::optional<BatchResult> take(std::uint64_t number, std::chrono::milliseconds timeout);
  std::optional<BatchResult> next_of(std::uint64_t generation, std::uint64_t number);
  std::string dump() const;
  /// Codecs, transforms, mixes, and who decodes: part of a state.
  std::string version() const;
  Stats stats() const;
  void reset_stats();
  /// What was read since the loader was made. `busy`: time in which reads were under way, or of all of the engine's
  /// threads inside them, where that is more; without what workers read themselves, whose clocks have it.
  EngineStats reads() const;

  const Dataset dataset;
  const LoaderOptions options;
  const std::shared_ptr<Device> device;  // null: batches stay on the host
  const Programs programs;
  const Program& program = programs.workers;
  const GpuDirect direct;
  const GpuJpeg jpeg;
  const DeviceShare share;
  const BatchMixer mixer;
  const Selection selection;
  const std::string option_notes;
  Cursor cursor;                  // consumer's thread alone
  std::uint64_t sequence = 0;     // of the next batch in its generation; consumer's thread alone
  bool iterating = false;         // a `for` is under way; consumer's thread alone
  std::string restore_note;       // of the state that was restored last
  mutable std::mutex note_mutex;  // guards restore_note: stats() may come from another thread
  StageClocks clocks;
  ChosenEngine engine, fallback;
  FieldHeaders headers{dataset};
  SampleCache cache;
  ValueChecks checks;
  FetchFrom from{.dataset = dataset,  // constant once there are slabs
                 .program = program,
                 .headers = headers,
                 .cache = cache.on() ? &cache : nullptr,
                 .checks = checks.on() ? &checks : nullptr,
                 .by_page = engine.engine->kind() != EngineKind::gather,
                 .device = direct.reads.get(),
                 .device_outputs = direct.outputs};
  BlockCache blocks;
  ReadWindow window;
  RowTaskPool row_tasks;
  TaskQueue tasks;
  WorkLog scheduler_log;
  WorkLogs worker_logs;
  std::shared_ptr<SlabPool> slabs;
  std::vector<std::unique_ptr<BatchBuilder>> builders;
  ReorderBuffer reorder;
  Failures failures;
  mutable std::mutex failures_mutex;  // guards failures: stats() may come from another thread
  StallAttribution stalls;
  EngineStats reads_before;                  // the last reset_stats()
  mutable std::mutex reads_mutex;            // guards reads_before, likewise
  std::unique_ptr<BatchStage> batch_stage;   // null without on_batch
  std::shared_ptr<DevicePool> device_slabs;  // null without a device, like the next
  std::unique_ptr<DeviceCopy> device_copy;
  std::atomic<unsigned> workers_observed{0};
  WorkerContext context{.dataset = dataset,
                        .program = program,
                        .options = options,
                        .selection = selection,
                        .from = from,
                        .jpegs = jpeg.jpegs.get(),
                        .direct = direct_engine(),
                        .blocks = blocks,
                        .cache = cache,
                        .mixer = mixer,
                        .window = window,
                        .row_tasks = row_tasks,
                        .tasks = tasks,
                        .reorder = reorder,
                        .slabs = *slabs,
                        .clocks = clocks,
                        .scheduler_log = scheduler_log,
                        .worker_logs = worker_logs,
                        .workers_observed = workers_observed};
  std::unique_ptr<Scheduler> scheduler;
  std::stop_source stopping;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<Thread> scheduler_thread, batch_thread, copy_thread, settle_thread;
  std::vector<Thread> direct_threads;
  const pid_t process = ::getpid();
};

}  // namespace penstock
