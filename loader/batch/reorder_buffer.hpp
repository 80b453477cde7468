// The prefetch queue: batches finish in any order and are taken in the plan's order.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <penstock/loader/batch/batch_builder.hpp>

namespace penstock {

/// Bounded by the slabs: each batch in it holds one. A generation is one uninterrupted run of batches; what finishes
/// for an older one is discarded.
class ReorderBuffer {
 public:
  explicit ReorderBuffer(std::shared_ptr<SlabPool> slabs) : slabs_(std::move(slabs)) { ready_.reserve(slabs_->size()); }

  /// From the worker that finished the batch's last row. Never fails: there is room for each slab's batch.
  void put(BatchBuilder& builder) noexcept;
  /// Waits for the batch of that sequence number; null after `timeout` (0 waits for ever), or once closed. Throws what
  /// it was closed with, each time, once that batch will not come any more.
  BatchBuilder* take(std::uint64_t sequence, std::chrono::milliseconds timeout);
  /// Waits for the batch of that sequence number of that generation; null once the generation has passed, or closed.
  BatchBuilder* take_of(std::uint64_t generation, std::uint64_t sequence);
  std::size_t ready() const;

  /// Discards what is ready and what is still coming; batches count from 0 again.
  std::uint64_t begin_generation();
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// Wakes take() for good: no batch comes any more. `failure` is what it then throws (null: nothing, it returns null).
  void close(std::exception_ptr failure = nullptr) noexcept;

 private:
  BatchBuilder* pick(std::uint64_t sequence);  // with the lock held; null where it is not ready
  bool contains(std::uint64_t sequence) const;

  std::shared_ptr<SlabPool> slabs_;
  mutable std::mutex mutex_;  // guards ready_, closed_, failure_; generation_ changes under it
  std::condition_variable arrived_;
  std::vector<BatchBuilder*> ready_;
  // Read without the lock by workers, to skip what nobody waits for; acquire pairs with the release of a new
  // generation.
  std::atomic<std::uint64_t> generation_{0};
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace penstock
