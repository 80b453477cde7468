#include <utility>

#include <loader/fetch/row_task.hpp>
#include <loader/fetch/task_queue.hpp>

namespace penstock {

// Threads read the clock before they take the lock, so `now` may be slightly earlier than the previous time.
void TaskQueue::Stretches::set(bool on, Clock::time_point now) {
  if (on == since_.has_value()) return;
  sum_ = until(now);
  since_.reset();
  if (on) since_ = now;
}

nanoseconds TaskQueue::Stretches::until(Clock::time_point now) const {
  return since_ ? sum_ + std::max(nanoseconds{}, now - *since_) : sum_;
}

// Requires the lock.
void TaskQueue::changed(Clock::time_point now) {
  reads_.set(reading_ != 0, now);
  without_room_.set(scheduler_waits_ && reading_ == 0, now);
}

void TaskQueue::call_by(unsigned workers, Call call, std::function<void()> stranded) {
  workers_ = workers;
  call_ = std::move(call);
  stranded_ = std::move(stranded);
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
    if (called_ + working_ >= callable()) return;
    ++called_;
  }
  call();  // WorkerPool enqueues a token, for which TBB wakes an idle thread
}

void TaskQueue::call_at_most(unsigned workers) noexcept {
  std::size_t more = 0;
  {
    const std::scoped_lock lock(mutex_);
    workers_.store(workers, std::memory_order_relaxed);
    const std::size_t busy = called_ + working_;
    if (!closed_ && busy < workers) more = std::min(size_, workers - busy);
    called_ += more;
  }
  for (; more > 0; --more) call();
}

// The caller has already counted the call in called_.
void TaskQueue::call() noexcept {
  if (call_()) return;
  bool stranded = false;
  {
    const std::scoped_lock lock(mutex_);
    --called_;
    stranded = size_ > 0 && called_ == 0 && working_ == 0 && !closed_;
  }
  if (stranded) stranded_();
}

// Requires the lock. Returns null if the queue is empty.
RowTask* TaskQueue::oldest() {
  if (first_ == nullptr || closed_) return nullptr;
  RowTask* task = std::exchange(first_, first_->behind);
  if (first_ == nullptr) last_ = nullptr;
  --size_;
  return task;
}

std::optional<TaskQueue::Taken> TaskQueue::first(const Idle& idle) {
  const std::scoped_lock lock(mutex_);
  --called_;
  // The limit may have become lower since the call. The workers at tasks then take this one, too.
  RowTask* task = working_ < callable() ? oldest() : nullptr;
  if (task == nullptr) return std::nullopt;
  ++working_;
  const Clock::time_point now = Clock::now();
  return Taken{task, now, idle.no_room(now, without_room_.until(now))};
}

std::optional<TaskQueue::Taken> TaskQueue::another(Clock::time_point done, Idle& idle) {
  const std::scoped_lock lock(mutex_);
  RowTask* task = working_ <= callable() ? oldest() : nullptr;
  if (task != nullptr) return Taken{task, Clock::now(), {}};
  --working_;
  idle = {done, without_room_.until(done)};
  return std::nullopt;
}

void TaskQueue::pass() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (first_ == nullptr || closed_) {
      --called_;
      return;
    }
  }
  call();
}

void TaskQueue::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
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
