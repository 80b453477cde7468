#include <algorithm>
#include <string>

#include <loader/batch/reorder_buffer.hpp>

namespace penstock {

std::vector<BatchBuilder*>::iterator ReorderBuffer::next() {
  return std::ranges::find(ready_, sequence_, &BatchBuilder::sequence);
}

BatchBuilder* ReorderBuffer::pick() {
  const auto found = next();
  if (found == ready_.end()) return nullptr;
  BatchBuilder* builder = *found;
  ready_.erase(found);
  ++sequence_;
  return builder;
}

void ReorderBuffer::put(BatchBuilder& builder) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (failure_ != nullptr || builder.generation() != generation_.load(std::memory_order_relaxed)) {
      slabs_->release(&builder.slab());
      return;
    }
    ready_.push_back(&builder);
  }
  arrived_.notify_all();
}

std::optional<BatchResult> ReorderBuffer::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto arrived = [&] { return closed_ || failure_ != nullptr || next() != ready_.end(); };
  if (timeout.count() == 0) {
    arrived_.wait(lock, arrived);
  } else if (!arrived_.wait_for(lock, timeout, arrived)) {
    return std::nullopt;
  }
  BatchBuilder* builder = pick();
  if (builder == nullptr && failure_ != nullptr) std::rethrow_exception(failure_);
  lock.unlock();
  if (builder == nullptr) return std::nullopt;
  return BatchResult(*builder, slabs_, SlabPool::To::consumer);
}

std::optional<BatchResult> ReorderBuffer::take_of(std::uint64_t generation) {
  std::unique_lock lock(mutex_);
  const auto passed = [&] {
    return closed_ || failure_ != nullptr || generation_.load(std::memory_order_relaxed) != generation;
  };
  arrived_.wait(lock, [&] { return passed() || next() != ready_.end(); });
  BatchBuilder* builder = passed() ? nullptr : pick();
  lock.unlock();
  if (builder == nullptr) return std::nullopt;
  return BatchResult(*builder, slabs_, SlabPool::To::stage);
}

void ReorderBuffer::begin(std::uint64_t generation) {
  for (BatchBuilder* builder : ready_) slabs_->release(&builder->slab());
  ready_.clear();
  sequence_ = 0;
  generation_.store(generation, std::memory_order_release);
}

void ReorderBuffer::go_to(const Position& /*position*/, std::uint64_t generation) {
  {
    const std::scoped_lock lock(mutex_);
    begin(generation);
  }
  arrived_.notify_all();
}

// A new generation makes every batch that still arrives obsolete, so put() releases it.
void ReorderBuffer::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    begin(generation_.load(std::memory_order_relaxed) + 1);
  }
  arrived_.notify_all();
}

void ReorderBuffer::fail(const std::exception_ptr& failure) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (failure_ == nullptr) failure_ = failure;
  }
  arrived_.notify_all();
}

std::size_t ReorderBuffer::ready() const {
  const std::scoped_lock lock(mutex_);
  return ready_.size();
}

std::string ReorderBuffer::level() const {
  return std::to_string(ready()) + " batches ready";
}

}  // namespace penstock
