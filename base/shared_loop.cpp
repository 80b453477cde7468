#include <utility>

#include <base/caught.hpp>
#include <base/shared_loop.hpp>

namespace penstock {

bool SharedLoop::left() const {
  return next_.load(std::memory_order_relaxed) < count_ && !stop_.stop_requested();
}

void SharedLoop::join(unsigned worker) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!left()) return;
    ++inside_;
  }
  std::exception_ptr failure;
  while (left()) {
    const std::uint64_t item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= count_) break;
    failure = caught([&] { body_(worker, item, stop_.get_token()); });
    if (failure) stop_.request_stop();
  }
  const std::lock_guard lock(mutex_);
  if (failure && !failure_) failure_ = std::move(failure);
  --inside_;
  left_one_.notify_all();
}

bool SharedLoop::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return left_one_.wait_for(lock, time, [&] { return failure_ || (inside_ == 0 && !left()); });
}

std::exception_ptr SharedLoop::end() {
  std::unique_lock lock(mutex_);
  stop_.request_stop();
  left_one_.wait(lock, [&] { return inside_ == 0; });
  return failure_;
}

}  // namespace penstock
