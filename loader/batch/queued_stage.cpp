#include <utility>

#include <base/caught.hpp>
#include <loader/batch/queued_stage.hpp>

namespace penstock {

QueuedStage::QueuedStage(Stage& before, const std::string& name, std::size_t ahead, const std::string& thread)
    : Stage(name, 1), before_(before), ahead_(ahead), thread_name_(thread.empty() ? "penstock-" + name : thread) {}

void QueuedStage::start(const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed) {
  thread_ = std::make_unique<Thread>(
      thread_name_, [this, keeps_alive](const std::stop_token&) { run(); }, failed);
}

void QueuedStage::run() {
  while (const auto generation = next_generation()) {
    while (advance(*generation)) {
    }
  }
}

bool QueuedStage::advance(std::uint64_t generation) {
  Stopwatch watch;
  std::optional<BatchResult> result = before_.take_of(generation);
  clock_.input_wait.add(watch.lap());
  if (!result || !pass(*result, generation)) return false;
  watch.lap();
  result->journey.passed.push_back(watch.last());
  const bool wanted = put(generation, std::move(*result));
  clock_.room_wait.add(watch.lap());
  return wanted;
}

bool QueuedStage::pass(BatchResult& result, std::uint64_t /*generation*/) {
  Stopwatch watch;
  if (result.failure == nullptr) result.failure = caught([&] { work(result.batch); });
  const Clock::time_point began = watch.last();
  const nanoseconds took = watch.lap();
  clock_.busy.add(took);
  if (traced()) {
    trace_->add({.kind = TraceSpan::Kind::stage,
                 .begin = began,
                 .took = took,
                 .batch = result.journey.batch,
                 .epoch = result.journey.epoch,
                 .number = result.journey.number});
  }
  return true;
}

std::optional<std::uint64_t> QueuedStage::next_generation() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || begun_.has_value(); });
  if (closed_) return std::nullopt;
  return std::exchange(begun_, std::nullopt);
}

bool QueuedStage::wait_for_room(std::uint64_t generation) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return passed(generation) || done_.size() < ahead_; });
  return !passed(generation);
}

bool QueuedStage::put(std::uint64_t generation, BatchResult result) {
  std::list<BatchResult> one;  // allocated before the lock is taken
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
  discard_all(one);
  return false;
}

std::optional<BatchResult> QueuedStage::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto arrived = [this] { return closed_ || failure_ != nullptr || !done_.empty(); };
  if (timeout.count() == 0) {
    changed_.wait(lock, arrived);
  } else {
    changed_.wait_for(lock, timeout, arrived);
  }
  if (done_.empty() && failure_ != nullptr) std::rethrow_exception(failure_);
  if (done_.empty()) return std::nullopt;
  BatchResult result = pop();
  lock.unlock();
  give(result);
  if (result.batch.slab() != nullptr) pool().hand_over(result.batch.slab().get());
  return result;
}

void QueuedStage::fail(const std::exception_ptr& failure) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (failure_ == nullptr) failure_ = failure;
  }
  changed_.notify_all();
}

std::optional<BatchResult> QueuedStage::take_of(std::uint64_t generation) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return passed(generation) || !done_.empty(); });
  if (passed(generation)) return std::nullopt;
  BatchResult result = pop();
  lock.unlock();
  give(result);
  return result;
}

// Requires the lock.
BatchResult QueuedStage::pop() {
  BatchResult result = std::move(done_.front());
  done_.pop_front();
  changed_.notify_all();
  return result;
}

void QueuedStage::go_to(const Position& /*position*/, std::uint64_t generation) {
  std::list<BatchResult> unwanted;
  {
    const std::scoped_lock lock(mutex_);
    begun_ = generation_ = generation;
    unwanted.swap(done_);
  }
  changed_.notify_all();
  discard_all(unwanted);
}

void QueuedStage::close() {
  std::list<BatchResult> unwanted;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    unwanted.swap(done_);
  }
  changed_.notify_all();
  discard_all(unwanted);
}

// Runs without the lock: destroying an attached object may need the interpreter's lock or another lock of the user.
void QueuedStage::discard_all(const std::list<BatchResult>& unwanted) {
  for (const BatchResult& each : unwanted) discard(each);
}

bool QueuedStage::wants(std::uint64_t generation) const {
  const std::scoped_lock lock(mutex_);
  return !passed(generation);
}

std::size_t QueuedStage::ready() const {
  const std::scoped_lock lock(mutex_);
  return done_.size();
}

}  // namespace penstock
