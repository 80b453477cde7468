// The prefetch queue. Batches finish in any order and are taken in the plan's order.
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

/// The slabs bound its size, because each batch in it holds one. Batches of an older generation are discarded. Its
/// clock counts the workers' time that is not reading, decoding or transforming.
class ReorderBuffer final : public Stage {
 public:
  ReorderBuffer(std::shared_ptr<SlabPool> slabs, unsigned workers)
      : Stage("deliver", workers), slabs_(std::move(slabs)) {
    ready_.reserve(slabs_->size());
  }

  /// Called by the worker that finished the batch's last row. Never fails: the buffer has room for the batch of each
  /// slab.
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
  std::vector<BatchBuilder*>::iterator next();  // requires the lock, like all functions below
  BatchBuilder* pick();                         // null if it is not ready
  void begin(std::uint64_t generation);

  std::shared_ptr<SlabPool> slabs_;
  mutable std::mutex mutex_;  // guards ready_, sequence_, closed_, failure_; generation_ changes under it
  std::condition_variable arrived_;
  std::vector<BatchBuilder*> ready_;
  std::uint64_t sequence_ = 0;  // of the next batch to take
  // Workers read it without the lock to skip obsolete work. Their acquire pairs with the release of a new generation.
  std::atomic<std::uint64_t> generation_{0};
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace penstock
