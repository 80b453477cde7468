// The user's own step on whole batches: a stage between delivery and next(), in one thread ahead of the consumer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <penstock/loader/batch/reorder_buffer.hpp>
#include <penstock/loader/batch/result_queue.hpp>
#include <penstock/loader/time/stage_clock.hpp>

namespace penstock {

/// Holds at most `ahead` batches that are done and one that the step is at. They count as the consumer's once taken, or
/// once discarded: what the step kept of them is then in the program's hands.
class BatchStage {
 public:
  BatchStage(ReorderBuffer& reorder, std::shared_ptr<SlabPool> slabs, std::function<void(Batch&)> step, unsigned ahead,
             StageClock& clock);

  void run();  ///< what the thread does, until close()
  bool runs_here() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  /// The next batch; nothing after `timeout` (0 waits for ever), or once closed.
  std::optional<BatchResult> take(std::chrono::milliseconds timeout);
  /// For a stage behind this one: the next batch of that generation, which stays in the loader's hands; nothing once it
  /// has passed, or closed.
  std::optional<BatchResult> take_of(std::uint64_t generation) { return queue_.take_of(generation); }
  /// Discards what is done; batches come from that generation of the reorder buffer, which has begun.
  void go_to(std::uint64_t generation) { queue_.go_to(generation); }
  void close() { queue_.close(); }
  void fail(const std::exception_ptr& failure) noexcept { queue_.fail(failure); }  ///< what take() throws from now on
  std::size_t ready() const { return queue_.ready(); }

 private:
  bool advance(std::uint64_t generation, std::uint64_t sequence);

  ReorderBuffer& reorder_;
  std::shared_ptr<SlabPool> slabs_;
  const std::function<void(Batch&)> step_;
  StageClock& clock_;
  std::atomic<std::thread::id> thread_{};  // compared with the reader's own id only: orders nothing
  ResultQueue queue_;
};

}  // namespace penstock
