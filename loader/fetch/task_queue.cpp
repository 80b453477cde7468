#include <algorithm>

#include <penstock/loader/fetch/row_task.hpp>
#include <penstock/loader/fetch/task_queue.hpp>

namespace penstock {

// Threads look at the clock before they hold the lock, so that `now` may be a little before the last one.
void TaskQueue::Stretches::set(bool on, Clock::time_point now) {
  if (on == since_.has_value()) return;
  sum_ = until(now);
  since_.reset();
  if (on) since_ = now;
}

nanoseconds TaskQueue::Stretches::until(Clock::time_point now) const {
  return since_ ? sum_ + std::max(nanoseconds{}, now - *since_) : sum_;
}

// With the lock held.
void TaskQueue::changed(Clock::time_point now) {
  reads_.set(reading_ != 0, now);
  without_room_.set(scheduler_waits_ && reading_ == 0, now);
}

void TaskQueue::push(RowTask& task, Clock::time_point now) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    task.queued = now;
    if (task.read_ahead) --reading_;
    changed(now);
    task.behind = nullptr;
    (last_ == nullptr ? first_ : last_->behind) = &task;
    last_ = &task;
    ++size_;
  }
  arrived_.notify_one();
}

std::optional<TaskQueue::Taken> TaskQueue::pop(std::stop_token stop, Clock::time_point idle_since) {
  std::unique_lock lock(mutex_);
  const nanoseconds before = without_room_.until(idle_since);
  arrived_.wait(lock, stop, [this] { return first_ != nullptr || closed_; });
  if (first_ == nullptr) return std::nullopt;
  const Clock::time_point taken = Clock::now();
  const Taken result{first_, taken,
                     std::clamp<nanoseconds>(without_room_.until(taken) - before, {}, taken - idle_since)};
  first_ = first_->behind;
  if (first_ == nullptr) last_ = nullptr;
  --size_;
  return result;
}

void TaskQueue::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_all();
}

std::size_t TaskQueue::size() const {
  const std::scoped_lock lock(mutex_);
  return size_;
}

void TaskQueue::sent(std::size_t tasks, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  reading_ += tasks;
  changed(now);
}

void TaskQueue::waits_for_room(Clock::time_point now, bool waits) {
  const std::scoped_lock lock(mutex_);
  scheduler_waits_ = waits;
  changed(now);
}

nanoseconds TaskQueue::without_room(Clock::time_point now) const {
  const std::scoped_lock lock(mutex_);
  return without_room_.until(now);
}

nanoseconds TaskQueue::reading(Clock::time_point now) const {
  const std::scoped_lock lock(mutex_);
  return reads_.until(now);
}

}  // namespace penstock
