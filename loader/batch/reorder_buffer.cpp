#include <algorithm>

#include <penstock/loader/batch/reorder_buffer.hpp>

namespace penstock {

bool ReorderBuffer::contains(std::uint64_t sequence) const {
  return std::ranges::any_of(ready_, [&](const BatchBuilder* ready) { return ready->sequence() == sequence; });
}

BatchBuilder* ReorderBuffer::pick(std::uint64_t sequence) {
  const auto found = std::ranges::find(ready_, sequence, &BatchBuilder::sequence);
  if (found == ready_.end()) return nullptr;
  BatchBuilder* builder = *found;
  ready_.erase(found);
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

BatchBuilder* ReorderBuffer::take(std::uint64_t sequence, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto arrived = [&] { return closed_ || contains(sequence); };
  if (timeout.count() == 0) {
    arrived_.wait(lock, arrived);
  } else if (!arrived_.wait_for(lock, timeout, arrived)) {
    return nullptr;
  }
  BatchBuilder* builder = pick(sequence);
  if (builder == nullptr && failure_ != nullptr) std::rethrow_exception(failure_);
  return builder;
}

BatchBuilder* ReorderBuffer::take_of(std::uint64_t generation, std::uint64_t sequence) {
  std::unique_lock lock(mutex_);
  const auto passed = [&] { return closed_ || generation_.load(std::memory_order_relaxed) != generation; };
  arrived_.wait(lock, [&] { return passed() || contains(sequence); });
  return passed() ? nullptr : pick(sequence);
}

std::size_t ReorderBuffer::ready() const {
  const std::scoped_lock lock(mutex_);
  return ready_.size();
}

std::uint64_t ReorderBuffer::begin_generation() {
  std::uint64_t generation = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (BatchBuilder* builder : ready_) slabs_->release(&builder->slab());
    ready_.clear();
    generation = generation_.fetch_add(1, std::memory_order_release) + 1;
  }
  arrived_.notify_all();
  return generation;
}

void ReorderBuffer::close(std::exception_ptr failure) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    if (failure_ == nullptr) failure_ = std::move(failure);
  }
  arrived_.notify_all();
}

}  // namespace penstock
