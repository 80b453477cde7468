// The prefetch queue: batches finish in any order and are taken in the plan's order.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <loader/batch/batch_builder.hpp>
#include <loader/batch/stage.hpp>

namespace penstock {

/// Bounded by the slabs: each batch in it holds one. What finishes for an older generation is discarded. The workers'
/// time that is neither reading, decoding nor transforming is its clock's.
class ReorderBuffer final : public Stage {
 public:
  ReorderBuffer(std::shared_ptr<SlabPool> slabs, unsigned workers)
      : Stage("deliver", workers), slabs_(std::move(slabs)) {
    ready_.reserve(slabs_->size());
  }

  /// From the worker that finished the batch's last row. Never fails: there is room for each slab's batch.
  void put(BatchBuilder& builder) noexcept;
  std::optional<BatchResult> take(std::chrono::milliseconds timeout) override;
  std::optional<BatchResult> take_of(std::uint64_t generation) override;
  void go_to(const Position& position, std::uint64_t generation) override;
  void close() override;
  void fail(const std::exception_ptr& failure) noexcept override;
  std::size_t ready() const override;
  std::string level() const override;
  BatchPool& pool() override { return *slabs_; }
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  std::vector<BatchBuilder*>::iterator next();  // with the lock held, like the rest
  BatchBuilder* pick();                         // null where it is not ready
  void begin(std::uint64_t generation);

  std::shared_ptr<SlabPool> slabs_;
  mutable std::mutex mutex_;  // guards ready_, sequence_, closed_, failure_; generation_ changes under it
  std::condition_variable arrived_;
  std::vector<BatchBuilder*> ready_;
  std::uint64_t sequence_ = 0;  // of the batch that is taken next
  // Read without the lock by workers, to skip what nobody waits for; acquire pairs with the release of a new
  // generation.
  std::atomic<std::uint64_t> generation_{0};
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace penstock
