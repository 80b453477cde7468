// Connects the stages of a loader in the order of the data flow and serves the consumer at the end.
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
#include <loader/asking/servers.hpp>
#include <loader/batch/reorder_buffer.hpp>
#include <loader/batch/stage.hpp>
#include <loader/device/device_copy.hpp>
#include <loader/device/device_offload.hpp>
#include <loader/fetch/asked_rows.hpp>
#include <loader/fetch/scheduler.hpp>
#include <loader/prepare.hpp>
#include <loader/sharing/shared_stage.hpp>
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
#include <record/time/recorder.hpp>
#include <record/watch/publisher.hpp>
#include <storage/disk_cache/planned_cache.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Dataset -> Plan -> ReadEngine -> Worker -> Slab -> stages -> next(). Threads start last and share ownership of the
/// pipeline: if a thread never returns from the kernel, the objects that it uses stay alive. The functions have the
/// same meaning as those of `Loader`.
class Pipeline {
 public:
  Pipeline(Dataset opened, LoaderOptions chosen, const EngineFactory& make_engine);

  /// Starts at the position of a state; null: at the first batch or, with sharing, where the other loaders are. Throws
  /// Error: resource, if a thread cannot be started; stop() then joins those that were. Throws what restore() throws.
  static void start(const std::shared_ptr<Pipeline>& pipeline, const LoaderState* at = nullptr);
  /// For a server: builds the rows that are asked for, in that order, instead of the plan's batches. Throws like
  /// start().
  static void start_asked(const std::shared_ptr<Pipeline>& pipeline, const std::shared_ptr<AskedRows>& asked);
  /// Waits for the next batch that was asked for. Returns nothing once stopped.
  std::optional<BatchResult> take_asked();
  /// Returns false if a thread is left running: the objects that it may use must then stay alive.
  bool stop();
  bool in_its_process() const;

  /// Returns codecs, transforms, mixes and decoders as a text that is part of a state.
  std::string version() const;
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
  Steps steps() const;
  void trace(const std::filesystem::path& file, const TraceOptions& options);
  TraceSummary end_trace();
  bool tracing() const { return recorder_.tracing(); }

  const Dataset& dataset() const { return dataset_; }
  const LoaderOptions& options() const { return options_; }
  const Cursor& cursor() const { return consumer_.cursor; }
  /// The stages that batches pass between the workers and next(), in that order. There is at least one.
  std::span<const std::unique_ptr<Stage>> stages() const { return stages_; }

 private:
  template <typename Kind>
  Kind& add(std::unique_ptr<Kind> stage);
  void lay_line();
  sharing::Own own_part();
  std::string loads() const;  ///< Hello::loads
  std::shared_ptr<SlabPool> host_slabs() const;
  std::shared_ptr<DevicePool> device_slabs() const;

  /// Records that a thread ended with this failure. next() throws it from now on. Thread-safe.
  void fail(const std::exception_ptr& failure) noexcept;
  ReadEngine& direct_engine() { return fallback_.engine != nullptr ? *fallback_.engine : *engine_.engine; }
  /// The chains of the batches that the reader gets.
  const Program& whole_program() const { return programs_.whole ? *programs_.whole : program(); }
  const Program& program() const { return programs_.workers; }
  Plan plan_of(const Position& at) const;  ///< of the epoch, from its start
  /// Fills a batch in the calling thread, in separate memory. `of_device` is the part of the work that is left to the
  /// device. Throws what filling throws.
  BatchResult filled_here(const Position& at, const Plan& plan, const DeviceShare& of_device);
  BatchResult filled_by_host(const Batch& batch);

  void require_files_not_written_to() const;
  void require_same_process() const;
  /// Throws Error: corrupt, if the batch taken last has invalid samples and the epoch now has more than it may.
  void require_few_failures(bool has_bad);
  /// Makes room for one batch more than the consumer holds. Throws Error: resource, if the consumer holds as many as
  /// it may, or if memory runs out.
  void require_room();
  /// Calls `while_waiting`, if not empty, regularly during the wait. It may throw.
  BatchResult await(const std::function<void()>& while_waiting);
  std::optional<BatchResult> take(const std::function<void()>& while_waiting);
  Levels look() const;
  void adjust_workers(Clock::time_point now);  ///< follows the measurements of about the last second
  WorkDone work_done() const;
  std::string dump() const;
  /// Returns the reads since the loader was made. `busy` is the time in which reads were in flight, or the sum of the
  /// times that the engine's threads spent in reads, whichever is longer. Reads of the workers are not included,
  /// because their clocks count them.
  EngineStats reads() const;
  /// Returns the counters that their owners never reset.
  Counts since_made() const;
  const BlockOffer& block_offered() const;  ///< computed at the first call

  /// Only the consumer's thread uses these members, except atomic ones and those with a lock.
  struct Consumer {
    Cursor cursor;
    Failures failures;
    Publisher publisher;
    std::optional<LedgerWriter> ledger = {};
    bool iterating = false;         // a `for` loop is running
    bool restored = false;          // no batch was taken since restore()
    mutable std::mutex mutex = {};  // guards failures, which stats() reports in another thread
    std::atomic<std::uint64_t> epochs_over{0};
  };
  struct Notes {
    const std::string options;
    // Why there is no cache although the options ask for one; constant once the pipeline is made.
    std::string disk_cache = {};
    mutable std::mutex mutex = {};  // guards the rest
    std::string restored = {};      // about the state restored last
    std::string workers = {};
  };
  /// The device's part of the work.
  struct OnDevice {
    OnDevice(const Dataset& dataset, const LoaderOptions& options, const Programs& programs);
    const GpuDirect direct;
    const GpuJpeg jpeg;
    const DeviceShare share;
  };
  /// Follows the decisions of AutoWorkers, in the consumer's thread.
  struct Scaling {
    Scaling(unsigned workers, double cores, unsigned most, unsigned ahead) : decides(workers, cores, most, ahead) {}
    AutoWorkers decides;
    IdleCores idle;
  };
  /// Values that stats() keeps between calls.
  struct Figures {
    std::mutex mutex = {};  // guards before
    Counts before = {};     // since_made() at the last reset_stats()
    std::once_flag offer_made = {};
    BlockOffer offer = {};
  };

  const Dataset dataset_;
  LoaderOptions options_;  // constant once the pipeline is made
  const Programs programs_;
  const OnDevice on_device_;
  const BatchMixer mixer_;
  const Selection selection_;
  const PlanOptions plan_options_;
  Notes notes_;
  Consumer consumer_;
  const std::shared_ptr<PlannedCache> disk_cache_;
  ChosenEngine engine_, fallback_;
  FieldHeaders headers_{dataset_};
  SampleCache cache_;
  ValueChecks checks_;
  FetchFrom from_{.dataset = dataset_,  // constant once there are slabs
                  .program = programs_.workers,
                  .headers = headers_,
                  .cache = cache_.on() ? &cache_ : nullptr,
                  .checks = checks_.on() ? &checks_ : nullptr,
                  .by_page = engine_.engine->kind() != EngineKind::mmap,
                  .unreadable = options_.read_options.unreadable};
  BlockCache blocks_;
  ReadWindow window_;
  RowTaskPool row_tasks_;
  TaskQueue tasks_;
  mutable Recorder recorder_;
  const std::shared_ptr<SharedRegions> regions_;  // null without sharing
  const std::shared_ptr<SlabPool> slabs_;
  std::vector<std::unique_ptr<BatchBuilder>> builders_;
  std::optional<Scaling> scaling_;
  mutable Figures figures_;
  std::vector<std::unique_ptr<Stage>> stages_;
  ReorderBuffer& reorder_;                      // the first of them
  sharing::SharedStage* shared_ = nullptr;      // the second of them, with sharing
  std::atomic<std::uint64_t> generations_ = 0;  // given to stages
  WorkerContext context_{.options = options_,
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
                         .recorder = recorder_};
  std::weak_ptr<Pipeline> self_;              // its threads own it
  std::unique_ptr<asking::Servers> servers_;  // null: the workers fill all batches
  std::unique_ptr<Scheduler> scheduler_;
  std::stop_source stopping_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<Thread> scheduler_thread_;
  const pid_t process_ = ::getpid();
};

}  // namespace penstock
