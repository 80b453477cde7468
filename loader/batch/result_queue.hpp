// A queue that a stage behind delivery fills: finished batches in order, of one generation at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

#include <penstock/loader/batch/batch_result.hpp>

namespace penstock {

/// One thread puts, one takes, and the taker's side says which generation is wanted.
class ResultQueue {
 public:
  /// Holds at most `ahead`. `discard` is called, in any thread, with each batch that nobody takes any more.
  ResultQueue(std::size_t ahead, std::function<void(const BatchResult&)> discard);

  /// Waits for the next generation that is wanted; nothing once closed.
  std::optional<std::uint64_t> next_generation();
  /// Waits until there is room; false once the generation has passed, or closed.
  bool wait_for_room(std::uint64_t generation);
  /// Waits for room likewise; a batch that is not wanted any more is discarded.
  bool put(std::uint64_t generation, BatchResult result);

  /// The next batch; nothing after `timeout` (0 waits for ever), or once closed. Throws what fail() was told, each
  /// time, once no batch is left.
  std::optional<BatchResult> take(std::chrono::milliseconds timeout);
  /// The next batch of that generation; nothing once it has passed, or closed.
  std::optional<BatchResult> take_of(std::uint64_t generation);
  /// Discards what is there; batches of that generation are wanted.
  void go_to(std::uint64_t generation);
  void close();
  /// No batch comes any more.
  void fail(const std::exception_ptr& failure) noexcept;
  bool wants(std::uint64_t generation) const;
  std::size_t ready() const;

 private:
  bool passed(std::uint64_t generation) const { return closed_ || failure_ != nullptr || generation_ != generation; }
  BatchResult pop();
  void discard(const std::list<BatchResult>& unwanted) const;

  const std::size_t ahead_;
  const std::function<void(const BatchResult&)> discard_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::list<BatchResult> done_;
  std::optional<std::uint64_t> begun_;  ///< generation that is wanted and not yet begun
  std::uint64_t generation_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace penstock
