// The interface of the stages that pass finished batches on, between the workers and next().
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <base/thread.hpp>
#include <loader/batch/batch_builder.hpp>
#include <loader/batch/batch_pool.hpp>
#include <loader/batch/slab.hpp>
#include <order/position.hpp>
#include <penstock/batch.hpp>
#include <penstock/stats.hpp>
#include <record/time/stage_clock.hpp>
#include <record/time/trace_log.hpp>

namespace penstock {

struct BatchResult {
  /// Takes over a builder's batch. Lends its slab out, or releases the slab if the batch failed.
  BatchResult(BatchBuilder& builder, const std::shared_ptr<SlabPool>& slabs, SlabPool::To to);

  std::uint64_t epoch;
  std::vector<BadSample> bad;
  std::uint64_t other_failures;
  std::exception_ptr failure;  ///< next() throws it instead of returning the batch
  Batch batch;                 ///< empty if it failed
  Journey journey;
};

/// One link in the chain that `Pipeline` builds. Batches leave it in the plan's order, each once. A generation is one
/// uninterrupted run of batches, and a stage holds batches of one generation at a time. The stats, the dump of a
/// timeout and the attribution of waits use only the interface here: name, clock, level and keeps_slabs().
class Stage {
 public:
  /// `name` labels the stage in the table of times and in the consumer's waits. `threads` is shown beside it.
  Stage(std::string name, unsigned threads) : name_(std::move(name)), threads_(threads) {}
  virtual ~Stage() = default;
  Stage(Stage&&) = delete;

  /// For the consumer, in whose hands the batch then is: the next batch. Nothing after `timeout` (0 waits for ever), or
  /// once closed. Throws what fail() was told, each time, once no batch is left.
  virtual std::optional<BatchResult> take(std::chrono::milliseconds timeout) = 0;
  /// For the stage behind this one: the next batch of that generation, which stays in the loader's hands; nothing once
  /// it has passed, or closed.
  virtual std::optional<BatchResult> take_of(std::uint64_t generation) = 0;
  /// Does with the batch what the stage does with each, in the calling thread: for a batch that is built again.
  virtual Batch apply(Batch batch) { return batch; }

  /// Discards what is ready and what is still coming. Batches come from `position` on, and are of that generation. The
  /// stages are told in the order of the line.
  virtual void go_to(const Position& position, std::uint64_t generation) = 0;
  /// Ends the stage: take() returns the batches that are ready and then throws this failure.
  virtual void close() = 0;
  /// No batch comes any more: take() throws that failure behind the batches that are ready.
  virtual void fail(const std::exception_ptr& failure) noexcept = 0;

  /// Begins the threads of the stage, which hold `keeps_alive`. Throws Error: resource, where one cannot be started;
  /// join() then joins those that were.
  virtual void start(const std::shared_ptr<void>& /*keeps_alive*/, const Thread::Failed& /*failed*/) {}
  /// After close(): waits for the end of the threads. False when one took longer than `grace`, and is left behind.
  virtual bool join(std::chrono::milliseconds /*grace*/) { return true; }

  const std::string& name() const { return name_; }
  StageClock& clock() { return clock_; }
  /// finished batches in its queue
  void trace_into(TraceLane& trace) { trace_ = &trace; }
  virtual std::size_t ready() const = 0;  ///< of the batches that the stage hands on
  /// Whether its batches may occupy all of the host's slabs while the workers are idle.
  virtual std::string level() const = 0;
  virtual BatchPool& pool() = 0;  ///< of the batches that it hands on
  /// Adds the stage's row to the table of times, and its other statistics.
  virtual bool keeps_slabs() const { return false; }
  /// Adds its row to the table of times, and what else there is to tell.
  virtual void report(Stats& stats) const { stats.stages.push_back(clock_.row(name_, threads_)); }
  virtual void reset_stats() { clock_.reset(); }

 protected:
  bool traced() const { return trace_ != nullptr && trace_->on(); }

  StageClock clock_;
  TraceLane* trace_ = nullptr;

 private:
  const std::string name_;
  const unsigned threads_;
};

}  // namespace penstock
