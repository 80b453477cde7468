// The user's own step on whole batches: a stage between delivery and next(), in one thread ahead of the consumer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <penstock/loader/batch/result_queue.hpp>
#include <penstock/loader/batch/slab.hpp>
#include <penstock/loader/batch/stage.hpp>

namespace penstock {

/// Holds at most `ahead` batches that are done and one that the step is at. They count as the consumer's once taken, or
/// once discarded: what the step kept of them is then in the program's hands.
class BatchStage final : public Stage {
 public:
  BatchStage(Stage& before, std::shared_ptr<SlabPool> slabs, std::string name, std::function<void(Batch&)> step,
             unsigned ahead);

  std::optional<BatchResult> take(std::chrono::milliseconds timeout) override;
  std::optional<BatchResult> take_of(std::uint64_t generation) override { return queue_.take_of(generation); }
  Batch apply(Batch batch) override;
  void go_to(const Position& /*position*/, std::uint64_t generation) override { queue_.go_to(generation); }
  void close() override { queue_.close(); }
  void fail(const std::exception_ptr& failure) noexcept override { queue_.fail(failure); }
  void start(const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed) override;
  /// However long it takes: the step uses what belongs to the user. False from inside the step, which cannot wait for
  /// itself: its thread is left behind.
  bool join(std::chrono::milliseconds grace) override;
  std::string level() const override { return std::to_string(queue_.ready()) + " batches done by " + name(); }
  BatchPool& pool() override { return *slabs_; }

 private:
  void run();  // what the thread does, until close()
  bool advance(std::uint64_t generation);

  Stage& before_;
  std::shared_ptr<SlabPool> slabs_;
  const std::function<void(Batch&)> step_;   // of the thread
  const std::function<void(Batch&)> again_;  // of apply(): a step may have a state of its own
  std::atomic<std::thread::id> runs_in_{};   // compared with the reader's own id only: orders nothing
  ResultQueue queue_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace penstock
