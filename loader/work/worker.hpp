// The worker pool: exactly `workers` threads that decode and transform rows, and read them with the engine in_worker.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <base/shared_loop.hpp>
#include <base/thread.hpp>
#include <loader/batch/batch_builder.hpp>
#include <loader/batch/row_slots.hpp>
#include <loader/fetch/row_task.hpp>
#include <loader/fetch/task_queue.hpp>
#include <loader/fetch/worker_context.hpp>
#include <loader/work/row_filler.hpp>
#include <penstock/error.hpp>
#include <record/time/stage_clock.hpp>
#include <record/time/work_log.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// One worker: what its thread does with a token.
class Worker {
 public:
  /// `records`: null pointers for a worker that only fills batches. `parallel`: the pool; null: nobody helps.
  explicit Worker(WorkerContext& context, const Recorder::OfWorker& records = {}, Parallel* parallel = nullptr);
  /// Does row tasks, the oldest first, until there is none. Throws what is no row's failure.
  void run_tasks();
  /// Does pieces of another worker's row, as thread `number`, until none is left.
  void help(SharedLoop& pieces, unsigned number);
  void record_help();  ///< one of them is done
  /// Fills a whole batch in the calling thread. Throws what failed.
  void fill_batch(BatchBuilder& builder);

 private:
  void run_task(RowTask& task);
  void copy_rows(BatchBuilder& builder, std::uint32_t first, std::uint32_t count);
  void run_unit(BatchBuilder& builder, std::uint32_t unit, RowTask* ahead, std::uint32_t index);
  void run_row(BatchBuilder& builder, std::uint32_t row, RowTask* ahead, std::uint32_t index);
  void fill_row(BatchBuilder& builder, std::uint32_t row, RowTask* ahead, std::uint32_t index);
  void fail_row(BatchBuilder& builder, std::uint32_t row, std::exception_ptr failure);
  void fall_short(BatchBuilder& builder, std::uint32_t row, std::uint64_t sample, const Error& error);
  bool replace(BatchBuilder& builder, std::uint32_t row, std::string& last);
  void run_cell(BatchBuilder& builder, std::uint32_t number, RowTask* ahead, std::uint32_t index);
  void fill_cell(BatchBuilder& builder, const Cell& cell, std::exception_ptr failure);
  std::exception_ptr fill_alone(BatchBuilder& builder, const Cell& cell, const CellPlace& place);
  void fail_place(BatchBuilder& builder, const Cell& cell, const CellPlace& place, const std::exception_ptr& failure);
  void fill_whole_row(BatchBuilder& builder, std::uint32_t row);
  void mend_rows(BatchBuilder& builder);                    ///< once all cells are done
  void finish(BatchBuilder& builder);                       ///< once its last row is written
  void take_up(Clock::time_point at, nanoseconds no_room);  ///< it was idle until then
  nanoseconds unrecorded() const;  ///< in rows, but for what is neither read nor decoded nor transformed
  void record_row(const RowTime& before, const SampleContext& sample);
  void record_outputs();
  void record(bool goes_on);  ///< what was done since the last look at the clock
  bool traced() const { return trace_ != nullptr && trace_->on(); }
  void trace_batch(const BatchBuilder& builder, Clock::time_point began);

  WorkerContext& context_;
  WorkLog* const log_;
  WorkerRecord* const record_;
  TraceLane* const trace_;
  Stopwatch watch_;
  RowFiller filler_;
  RowSlots slots_, other_slots_;
  std::vector<std::byte> mixed_row_;              // scratch
  std::vector<std::uint8_t> missing_;             // scratch: by row, 1 where the cache has it not
  nanoseconds mixing_{};                          // since last recorded
  std::vector<FillTimes> outputs_, row_outputs_;  // as last recorded
  std::vector<FillTimes> spent_;                  // scratch
  nanoseconds read_{}, decode_{}, transform_{};   // as last recorded
  std::uint64_t hits_ = 0, misses_ = 0;           // likewise
  std::uint64_t copied_ = 0;                      // values, since then
  TaskQueue::Idle idle_;
  bool at_work_ = false, observed_ = false;
};

/// The pool: exactly as many threads as asked for, in an arena of their own. TBB schedules tokens onto those that are
/// idle: to do row tasks, or to help another with a large row. What runs on TBB within a codec stays on these threads
/// too.
class WorkerPool {
 public:
  explicit WorkerPool(unsigned most);  ///< threads that it has room for
  ~WorkerPool();
  /// The queue calls workers from now on. Throws Error: resource, when a thread cannot be started; those that were are
  /// joined in the end, as all are. `failed` is told what a thread ends with, and what ends a token but is no row's.
  void start(unsigned workers, const std::shared_ptr<void>& keeps_alive, WorkerContext& context,
             const Thread::Failed& failed);
  /// From now on the queue calls so many, for whom threads are started where there are too few. Throws as start() does;
  /// as many as there are then work.
  void use(unsigned workers, const std::shared_ptr<void>& keeps_alive);
  unsigned started() const;  ///< threads; from the one that calls start() and use()
  /// Joins the threads; false when one of them did not come back within `grace` and was left behind. The queue is
  /// closed by then.
  bool join_for(std::chrono::milliseconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
