// The user's own step on whole batches: a stage between delivery and next(), in one thread ahead of the consumer.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <penstock/loader/batch/queued_stage.hpp>

namespace penstock {

/// Batches count as the consumer's once taken, or once discarded: what the step kept of them is then in the program's
/// hands.
class BatchStage final : public QueuedStage {
 public:
  BatchStage(Stage& before, const std::string& name, std::function<void(Batch&)> step, std::size_t ahead);

  Batch apply(Batch batch) override;
  /// However long it takes: the step uses what belongs to the user. False from inside the step, which cannot wait for
  /// itself: its thread is left behind.
  bool join(std::chrono::milliseconds grace) override;

 private:
  void work(Batch& batch) override;
  void discard(const BatchResult& unwanted) override;

  const std::function<void(Batch&)> step_;   // of the thread
  const std::function<void(Batch&)> again_;  // of apply(): a step may have a state of its own
  std::atomic<std::thread::id> runs_in_{};   // compared with the reader's own id only: orders nothing
};

}  // namespace penstock
