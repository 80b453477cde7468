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
  /// A batch that another loader has built.
  explicit BatchResult(Batch built);
  BatchResult(std::exception_ptr why, std::uint64_t of_epoch) : epoch(of_epoch), failure(std::move(why)) {}

  std::uint64_t epoch;
  std::vector<BadSample> bad = {};
  std::uint64_t other_failures = 0;
  std::exception_ptr failure;  ///< next() throws it instead of returning the batch
  Batch batch = {};            ///< empty if it failed
  Journey journey = {};
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

  /// For the consumer: returns the next batch and passes it to the consumer. Returns nothing after `timeout` (0 waits
  /// without a limit) or once closed. After fail(), it throws that failure on every call once no batch is left.
  virtual std::optional<BatchResult> take(std::chrono::milliseconds timeout) = 0;
  /// For the next stage: returns the next batch of that generation, which the loader keeps. Returns nothing once the
  /// generation has passed or the stage is closed.
  virtual std::optional<BatchResult> take_of(std::uint64_t generation) = 0;
  /// Processes a batch in the calling thread as the stage processes every batch. Used for a batch that is rebuilt.
  virtual Batch apply(Batch batch) { return batch; }

  /// Discards ready batches and those still to come. Later batches begin at `position` and belong to `generation`.
  /// The pipeline calls its stages in their order.
  virtual void go_to(const Position& position, std::uint64_t generation) = 0;
  /// Wakes all waiting threads permanently and discards ready batches.
  virtual void close() = 0;
  /// Ends the stage: take() returns the batches that are ready and then throws this failure.
  virtual void fail(const std::exception_ptr& failure) noexcept = 0;

  /// Starts the threads of the stage, which hold `keeps_alive`. Throws Error: resource, if a thread cannot be
  /// started; join() then joins those that were.
  virtual void start(const std::shared_ptr<void>& /*keeps_alive*/, const Thread::Failed& /*failed*/) {}
  /// After close(): waits for the end of the threads. Returns false if one took longer than `grace`; it is then left
  /// running.
  virtual bool join(std::chrono::milliseconds /*grace*/) { return true; }

  const std::string& name() const { return name_; }
  StageClock& clock() { return clock_; }
  /// Sets where the stage records its times. Call it before start(). `trace` must outlive the stage.
  void trace_into(TraceLane& trace) { trace_ = &trace; }
  virtual std::size_t ready() const = 0;  ///< finished batches in its queue
  /// Whether its batches may occupy all of the host's slabs while the workers are idle.
  virtual std::string level() const = 0;
  virtual BatchPool& pool() = 0;  ///< of the batches that the stage hands on
  /// Whether its batches may occupy all of the host's slabs while the workers are idle.
  virtual bool keeps_slabs() const { return false; }
  /// Adds the stage's row to the table of times, and its other statistics.
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
