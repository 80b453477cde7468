// Runs the program's function of whole batches: a stage between delivery and next(), in one thread ahead of the
// consumer.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <loader/batch/queued_stage.hpp>

namespace penstock {

/// For a step, in its thread: so much of its time it waited for a lock that others of the program hold, such as that of
/// Python's interpreter. Stats tell it.
void waited_for_lock(std::chrono::nanoseconds time);

/// Batches count as the consumer's once taken, or once discarded: what the step kept of them is then in the program's
/// hands.
class BatchStage final : public QueuedStage {
 public:
  BatchStage(Stage& before, std::function<void(Batch&)> step, std::size_t ahead);

  Batch apply(Batch batch) override;
  /// However long it takes: the step uses what belongs to the user. False from inside the step, which cannot wait for
  /// itself: its thread is left behind.
  bool join(std::chrono::milliseconds grace) override;
  void report(Stats& stats) const override;
  void reset_stats() override;

 private:
  void work(Batch& batch) override;
  void discard(const BatchResult& unwanted) override;

  const std::function<void(Batch&)> step_;   // of the thread
  const std::function<void(Batch&)> again_;  // of apply(): a step may have a state of its own
  TimeSum on_cores_, awaits_lock_;
  std::atomic<std::thread::id> runs_in_{};  // compared with the reader's own id only: orders nothing
};

}  // namespace penstock
