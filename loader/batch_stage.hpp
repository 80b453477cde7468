// The user's own step on whole batches: a stage between delivery and next(), in one thread ahead of the consumer.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <penstock/loader/delivery.hpp>
#include <penstock/loader/finished.hpp>
#include <penstock/loader/stage_clock.hpp>

namespace penstock {

/// Holds at most `ahead` batches that are done and one that the step is at. They count as the consumer's once taken, or
/// once discarded: what the step kept of them is then in the program's hands.
class BatchStage {
 public:
  BatchStage(Delivery& delivery, std::shared_ptr<SlabPool> slabs, std::function<void(Batch&)> step, unsigned ahead,
             StageClock& clock);

  void run();  ///< what the thread does, until close()
  bool runs_here() const { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  /// The next batch; nothing after `timeout` (0 waits for ever), or once closed.
  std::optional<Finished> take(std::chrono::milliseconds timeout);
  /// Discards what is done; batches come from that generation of the delivery, which has begun.
  void go_to(std::uint64_t generation);
  void close();
  std::size_t ready() const;

 private:
  std::optional<std::uint64_t> next_generation();
  bool advance(std::uint64_t generation, std::uint64_t sequence);
  bool put(std::uint64_t generation, Finished finished);
  void discard(std::deque<Finished> finished);

  Delivery& delivery_;
  std::shared_ptr<SlabPool> slabs_;
  const std::function<void(Batch&)> step_;
  const std::size_t ahead_;
  StageClock& clock_;
  std::atomic<std::thread::id> thread_{};  // compared with the reader's own id only: orders nothing
  mutable std::mutex mutex_;               // guards all below
  std::condition_variable changed_;
  std::deque<Finished> done_;
  std::optional<std::uint64_t> begun_;  ///< generation that is wanted and not yet begun
  std::uint64_t generation_ = 0;
  bool closed_ = false;
};

}  // namespace penstock
