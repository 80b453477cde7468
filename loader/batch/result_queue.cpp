#include <utility>

#include <penstock/loader/batch/result_queue.hpp>

namespace penstock {

ResultQueue::ResultQueue(std::size_t ahead, std::function<void(const BatchResult&)> discard)
    : ahead_(ahead), discard_(std::move(discard)) {}

std::optional<std::uint64_t> ResultQueue::next_generation() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || begun_.has_value(); });
  if (closed_) return std::nullopt;
  return std::exchange(begun_, std::nullopt);
}

bool ResultQueue::wait_for_room(std::uint64_t generation) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return passed(generation) || done_.size() < ahead_; });
  return !passed(generation);
}

bool ResultQueue::put(std::uint64_t generation, BatchResult result) {
  std::list<BatchResult> one;  // takes its memory before the lock
  one.push_back(std::move(result));
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return passed(generation) || done_.size() < ahead_; });
    if (!passed(generation)) {
      done_.splice(done_.end(), one);
      changed_.notify_all();
      return true;
    }
  }
  discard(one);
  return false;
}

std::optional<BatchResult> ResultQueue::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto arrived = [this] { return closed_ || failure_ != nullptr || !done_.empty(); };
  if (timeout.count() == 0) {
    changed_.wait(lock, arrived);
  } else {
    changed_.wait_for(lock, timeout, arrived);
  }
  if (!done_.empty()) return pop();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  return std::nullopt;
}

void ResultQueue::fail(const std::exception_ptr& failure) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (failure_ == nullptr) failure_ = failure;
  }
  changed_.notify_all();
}

std::optional<BatchResult> ResultQueue::take_of(std::uint64_t generation) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return passed(generation) || !done_.empty(); });
  if (passed(generation)) return std::nullopt;
  return pop();
}

// With the lock held.
BatchResult ResultQueue::pop() {
  BatchResult result = std::move(done_.front());
  done_.pop_front();
  changed_.notify_all();
  return result;
}

void ResultQueue::go_to(std::uint64_t generation) {
  std::list<BatchResult> unwanted;
  {
    const std::scoped_lock lock(mutex_);
    begun_ = generation_ = generation;
    unwanted.swap(done_);
  }
  changed_.notify_all();
  discard(unwanted);
}

void ResultQueue::close() {
  std::list<BatchResult> unwanted;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    unwanted.swap(done_);
  }
  changed_.notify_all();
  discard(unwanted);
}

// Outside the lock: what is attached to a batch may need the interpreter, or whatever else its user holds, to go.
void ResultQueue::discard(const std::list<BatchResult>& unwanted) const {
  if (!discard_) return;
  for (const BatchResult& each : unwanted) discard_(each);
}

bool ResultQueue::wants(std::uint64_t generation) const {
  const std::scoped_lock lock(mutex_);
  return !passed(generation);
}

std::size_t ResultQueue::ready() const {
  const std::scoped_lock lock(mutex_);
  return done_.size();
}

}  // namespace penstock
