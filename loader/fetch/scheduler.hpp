// The scheduler: the thread that turns the plan into work. It takes a free slab, names its rows, and issues their
// reads. Engines without read-ahead leave the reads to the workers. The thread runs ahead across epochs as far as
// slabs and window allow.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <base/thread.hpp>
#include <formats/extent.hpp>
#include <loader/batch/batch_builder.hpp>
#include <loader/batch/row_slots.hpp>
#include <loader/fetch/asked_rows.hpp>
#include <loader/fetch/worker_context.hpp>
#include <order/plan.hpp>
#include <order/position_walk.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// How the rows of a builder name their samples: by places in the loader's selection, or by numbers in the dataset.
enum class NamedBy : std::uint8_t { selection, dataset };
/// Prepares a builder's rows for filling: samples, keys, and the offsets of ragged rows of known length. Throws
/// Error: resource, if a row exceeds max_items.
void name_rows(BatchBuilder& builder, const WorkerContext& context, const Position& position,
               NamedBy by = NamedBy::selection);

/// Lets workers read and fill the rows of a batch that has begun. If that fails, the batch is delivered with the
/// failure.
void fill_by_workers(BatchBuilder& builder, const WorkerContext& context);

class PlannedCache;

class Scheduler {
 public:
  /// `disk_cache` receives the position that reading has reached; null without one.
  Scheduler(WorkerContext& context, PlanOptions plan, ReadEngine& engine,
            std::vector<std::unique_ptr<BatchBuilder>>& builders, PlannedCache* disk_cache = nullptr);

  /// Builds these rows from now on, instead of the plan's. Call it before run().
  void build(std::shared_ptr<AskedRows> asked) { asked_ = std::move(asked); }
  /// Lets `fill` have each batch filled, which has begun and whose rows are named, instead of reading and passing it to
  /// the workers. Call it before run().
  void fill_with(std::function<void(BatchBuilder&)> fill) { fill_ = std::move(fill); }

  /// Restarts at `position` for that generation of batches. Called by the consumer's thread.
  void go_to(const Position& position, std::uint64_t generation);
  void run(std::stop_token stop);

 private:
  struct Command {
    Position position;
    std::uint64_t generation;
  };
  std::optional<Command> next_command(std::stop_token stop);
  void feed(const Command& command, std::stop_token stop);
  bool feed_batch(const Position& at, const std::function<void(std::vector<Row>&)>& name_samples,
                  std::uint64_t generation, std::stop_token stop);
  bool stale(std::uint64_t generation) const { return context_.reorder.generation() != generation; }
  std::uint32_t feed_task(BatchBuilder& builder, std::uint32_t first, std::stop_token stop);
  std::uint32_t task_rows(BatchBuilder& builder, std::uint32_t first);
  std::uint32_t task_cells(BatchBuilder& builder, std::uint32_t first) const;
  std::uint32_t copied_rows() const;
  bool read_ahead(RowTask& task, std::stop_token stop);
  bool take_window(RowTask& task, std::stop_token stop);
  void make_room_for(RowTask& task);
  void plan_reads(RowTask& task);
  void bring_block(std::uint32_t number, RowTask& task);
  std::shared_ptr<BlockRead> begin_block(std::uint32_t number);
  void flush();
  void planned();                                       ///< adds the time since the last look at the clock to planning
  void waited(StageClock& stage, Activity::Kind kind);  ///< adds it to waiting, for that stage

  void trace(TraceSpan::Kind kind, Clock::time_point began, nanoseconds took);
  void trace_slot(const BatchBuilder& before, std::size_t slot);

  WorkerContext& context_;
  PlanOptions plan_options_;
  ReadEngine& engine_;
  std::vector<std::unique_ptr<BatchBuilder>>& builders_;
  PlannedCache* const disk_cache_;
  std::shared_ptr<AskedRows> asked_;         // null: the plan's
  std::function<void(BatchBuilder&)> fill_;  // empty: the workers fill
  bool begins_ = false;                      // no batch of the run has been planned yet
  std::vector<ReadRequest> requests_;
  std::vector<RowTask*> unsent_;
  RowSlots slots_;
  BlockReads block_reads_;
  std::vector<Piece> pieces_;
  Stopwatch watch_;
  std::uint64_t sequence_ = 0;
  std::mutex mutex_;  // guards command_
  std::condition_variable_any commanded_;
  std::optional<Command> command_;
};

}  // namespace penstock
