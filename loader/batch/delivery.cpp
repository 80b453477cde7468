#include <algorithm>

#include <penstock/loader/batch/delivery.hpp>

namespace penstock {

bool Delivery::contains(std::uint64_t sequence) const {
  return std::ranges::any_of(ready_, [&](const Assembly* ready) { return ready->sequence() == sequence; });
}

Assembly* Delivery::pick(std::uint64_t sequence) {
  const auto found = std::ranges::find(ready_, sequence, &Assembly::sequence);
  if (found == ready_.end()) return nullptr;
  Assembly* assembly = *found;
  ready_.erase(found);
  return assembly;
}

void Delivery::put(Assembly& assembly) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (failure_ != nullptr || assembly.generation() != generation_.load(std::memory_order_relaxed)) {
      slabs_->release(&assembly.slab());
      return;
    }
    ready_.push_back(&assembly);
  }
  arrived_.notify_all();
}

Assembly* Delivery::take(std::uint64_t sequence, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto arrived = [&] { return closed_ || contains(sequence); };
  if (timeout.count() == 0) {
    arrived_.wait(lock, arrived);
  } else if (!arrived_.wait_for(lock, timeout, arrived)) {
    return nullptr;
  }
  Assembly* assembly = pick(sequence);
  if (assembly == nullptr && failure_ != nullptr) std::rethrow_exception(failure_);
  return assembly;
}

Assembly* Delivery::take_of(std::uint64_t generation, std::uint64_t sequence) {
  std::unique_lock lock(mutex_);
  const auto passed = [&] { return closed_ || generation_.load(std::memory_order_relaxed) != generation; };
  arrived_.wait(lock, [&] { return passed() || contains(sequence); });
  return passed() ? nullptr : pick(sequence);
}

std::size_t Delivery::ready() const {
  const std::scoped_lock lock(mutex_);
  return ready_.size();
}

std::uint64_t Delivery::begin_generation() {
  std::uint64_t generation = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (Assembly* assembly : ready_) slabs_->release(&assembly->slab());
    ready_.clear();
    generation = generation_.fetch_add(1, std::memory_order_release) + 1;
  }
  arrived_.notify_all();
  return generation;
}

void Delivery::close(std::exception_ptr failure) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    if (failure_ == nullptr) failure_ = std::move(failure);
  }
  arrived_.notify_all();
}

}  // namespace penstock
