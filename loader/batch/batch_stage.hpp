// Runs the program's function of whole batches. This stage is between delivery and next(), and its thread runs ahead
// of the consumer.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <loader/batch/queued_stage.hpp>

namespace penstock {

/// Reports that a step waited for a lock of the program, such as the lock of Python's interpreter. The step calls
/// this in its own thread. The stats show the sum.
void waited_for_lock(std::chrono::nanoseconds time);

/// A batch counts as held by the consumer once it is taken or discarded, because the program may hold what the step
/// made of it.
class BatchStage final : public QueuedStage {
 public:
  BatchStage(Stage& before, std::function<void(Batch&)> step, std::size_t ahead);

  Batch apply(Batch batch) override;
  /// Waits for the step without the limit of `grace`, because the step uses objects of the user. Returns false inside
  /// the step, which cannot wait for itself; its thread is then left running.
  bool join(std::chrono::milliseconds grace) override;
  void report(Stats& stats) const override;
  void reset_stats() override;

 private:
  void work(Batch& batch) override;
  void discard(const BatchResult& unwanted) override;

  const std::function<void(Batch&)> step_;   // used by the stage's thread
  const std::function<void(Batch&)> again_;  // used by apply(), because a step may have a state
  TimeSum on_cores_, awaits_lock_;
  std::atomic<std::thread::id> runs_in_{};  // only compared with the reader's own id: orders nothing
};

}  // namespace penstock
