#include <penstock/loader/delivery.hpp>

namespace penstock {

void Delivery::put(Assembly& assembly) {
  {
    const std::scoped_lock lock(mutex_);
    if (assembly.generation() != generation_.load(std::memory_order_relaxed)) {
      slabs_->release(&assembly.slab());
      return;
    }
    ready_.emplace(assembly.sequence(), &assembly);
  }
  arrived_.notify_all();
}

Assembly* Delivery::take(std::uint64_t sequence, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto arrived = [&] { return closed_ || ready_.contains(sequence); };
  if (timeout.count() == 0) {
    arrived_.wait(lock, arrived);
  } else if (!arrived_.wait_for(lock, timeout, arrived)) {
    return nullptr;
  }
  const auto found = ready_.find(sequence);
  if (found == ready_.end()) {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return nullptr;
  }
  Assembly* assembly = found->second;
  ready_.erase(found);
  return assembly;
}

Assembly* Delivery::take_of(std::uint64_t generation, std::uint64_t sequence) {
  std::unique_lock lock(mutex_);
  const auto passed = [&] { return closed_ || generation_.load(std::memory_order_relaxed) != generation; };
  arrived_.wait(lock, [&] { return passed() || ready_.contains(sequence); });
  if (passed()) return nullptr;
  const auto found = ready_.find(sequence);
  Assembly* assembly = found->second;
  ready_.erase(found);
  return assembly;
}

std::size_t Delivery::ready() const {
  const std::scoped_lock lock(mutex_);
  return ready_.size();
}

std::uint64_t Delivery::begin_generation() {
  std::uint64_t generation = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [sequence, assembly] : ready_) slabs_->release(&assembly->slab());
    ready_.clear();
    generation = generation_.fetch_add(1, std::memory_order_release) + 1;
  }
  arrived_.notify_all();
  return generation;
}

void Delivery::close(std::exception_ptr failure) {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    if (failure_ == nullptr) failure_ = std::move(failure);
  }
  arrived_.notify_all();
}

}  // namespace penstock
