// The worker pool: `workers` threads that decode and transform rows. With the engine in_worker they also read them.
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

/// One worker: the work that its thread does for a token.
class Worker {
 public:
  /// `records`: null pointers for a worker that only fills batches. `parallel`: the pool; null: no thread helps.
  explicit Worker(WorkerContext& context, const Recorder::OfWorker& records = {}, Parallel* parallel = nullptr);
  /// Runs row tasks, the oldest first, until the queue is empty. Throws failures that belong to no row.
  void run_tasks();
  /// Works on pieces of another worker's row, as thread `number`, until none is left.
  void help(SharedLoop& pieces, unsigned number);
  void record_help();  ///< records one finished piece
  /// Fills a whole batch in the calling thread. Throws the failure of the batch.
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
  void mend_rows(BatchBuilder& builder);                    ///< called once all cells are done
  void finish(BatchBuilder& builder);                       ///< called once its last row is written
  void take_up(Clock::time_point at, nanoseconds no_room);  ///< ends an idle time
  nanoseconds unrecorded() const;  ///< time in rows that is not reading, decoding or transforming
  void record_row(const RowTime& before, const SampleContext& sample);
  void record_outputs();
  void record(bool goes_on);  ///< records the work since the last look at the clock
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
  std::vector<std::uint8_t> missing_;             // scratch, by row: 1 if the cache does not have it
  nanoseconds mixing_{};                          // since last recorded
  std::vector<FillTimes> outputs_, row_outputs_;  // at the last record
  std::vector<FillTimes> spent_;                  // scratch
  nanoseconds read_{}, decode_{}, transform_{};   // at the last record
  std::uint64_t hits_ = 0, misses_ = 0;           // at the last record
  std::uint64_t copied_ = 0;                      // values since the last record
  TaskQueue::Idle idle_;
  bool at_work_ = false, observed_ = false;
};

/// The pool has exactly as many threads as requested, in a separate arena. TBB schedules tokens onto idle threads. A
/// token runs row tasks or helps another worker with a large row. If a codec uses TBB, its work stays on these
/// threads, too.
class WorkerPool {
 public:
  explicit WorkerPool(unsigned most);  ///< maximum number of threads
  ~WorkerPool();
  /// Lets the queue call workers from now on. Throws Error: resource, if a thread cannot be started; join_for() joins
  /// those that were. `failed` receives every exception that ends a thread, or a token, and belongs to no row.
  void start(unsigned workers, const std::shared_ptr<void>& keeps_alive, WorkerContext& context,
             const Thread::Failed& failed);
  /// Lets the queue call `workers` workers from now on and starts missing threads. Throws like start(); the threads
  /// that exist then continue.
  void use(unsigned workers, const std::shared_ptr<void>& keeps_alive);
  unsigned started() const;  ///< number of threads; call it from the thread that calls start() and use()
  /// Joins the threads. Returns false if one did not end within `grace`; it is then left running. Close the queue
  /// before.
  bool join_for(std::chrono::milliseconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
