#include <utility>

#include <penstock/loader/batch_stage.hpp>

namespace penstock {

BatchStage::BatchStage(Delivery& delivery, std::shared_ptr<SlabPool> slabs, std::function<void(Batch&)> step,
                       unsigned ahead, StageClock& clock)
    : delivery_(delivery), slabs_(std::move(slabs)), step_(std::move(step)), ahead_(ahead), clock_(clock) {}

void BatchStage::run() {
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  while (const auto generation = next_generation()) {
    for (std::uint64_t sequence = 0; advance(*generation, sequence);) ++sequence;
  }
}

std::optional<std::uint64_t> BatchStage::next_generation() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || begun_.has_value(); });
  if (closed_) return std::nullopt;
  return std::exchange(begun_, std::nullopt);
}

bool BatchStage::advance(std::uint64_t generation, std::uint64_t sequence) {
  Stopwatch watch;
  Assembly* assembly = delivery_.take_of(generation, sequence);
  clock_.stalled_in.add(watch.lap());
  if (assembly == nullptr) return false;
  Finished finished(*assembly, slabs_, SlabPool::To::stage);
  if (finished.failure == nullptr) {
    try {
      Batch given = finished.batch;
      step_(given);
      finished.batch.attach(given.attached());
    } catch (...) {
      finished.failure = std::current_exception();
    }
  }
  clock_.busy.add(watch.lap());
  const bool wanted = put(generation, std::move(finished));
  clock_.stalled_out.add(watch.lap());
  return wanted;
}

bool BatchStage::put(std::uint64_t generation, Finished finished) {
  std::deque<Finished> unwanted;
  {
    std::unique_lock lock(mutex_);
    const auto passed = [&] { return closed_ || generation_ != generation; };
    changed_.wait(lock, [&] { return passed() || done_.size() < ahead_; });
    if (!passed()) {
      done_.push_back(std::move(finished));
      changed_.notify_all();
      return true;
    }
    unwanted.push_back(std::move(finished));
  }
  discard(std::move(unwanted));
  return false;
}

std::optional<Finished> BatchStage::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto arrived = [this] { return closed_ || !done_.empty(); };
  if (timeout.count() == 0) {
    changed_.wait(lock, arrived);
  } else {
    changed_.wait_for(lock, timeout, arrived);
  }
  if (done_.empty()) return std::nullopt;
  std::optional<Finished> finished(std::move(done_.front()));
  done_.pop_front();
  lock.unlock();
  changed_.notify_all();
  if (const auto& slab = finished->batch.slab()) slabs_->hand_over(slab.get());
  return finished;
}

void BatchStage::go_to(std::uint64_t generation) {
  std::deque<Finished> unwanted;
  {
    const std::scoped_lock lock(mutex_);
    begun_ = generation_ = generation;
    unwanted.swap(done_);
  }
  changed_.notify_all();
  discard(std::move(unwanted));
}

void BatchStage::close() {
  std::deque<Finished> unwanted;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    unwanted.swap(done_);
  }
  changed_.notify_all();
  discard(std::move(unwanted));
}

// Outside the lock: what is attached to a batch may need the interpreter, or whatever else its user holds, to go.
void BatchStage::discard(std::deque<Finished> finished) {
  for (const Finished& each : finished) {
    if (each.batch.slab() != nullptr) slabs_->hand_over(each.batch.slab().get());
  }
}

std::size_t BatchStage::ready() const {
  const std::scoped_lock lock(mutex_);
  return done_.size();
}

}  // namespace penstock
