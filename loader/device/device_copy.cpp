#include <utility>

#include <base/caught.hpp>
#include <loader/device/device_copy.hpp>
#include <record/time/profiler_range.hpp>

namespace penstock {
namespace {

const Slab& slab_of(const Batch& host) {
  return static_cast<const Slab&>(*host.slab());
}

}  // namespace

DeviceCopy::DeviceCopy(Stage& before, std::shared_ptr<SlabPool> host, std::shared_ptr<DevicePool> pool, unsigned ahead,
                       DeviceTasks tasks)
    : QueuedStage(before, "copy", ahead),
      host_(std::move(host)),
      pool_(std::move(pool)),
      tasks_(std::move(tasks)),
      stream_(pool_->device().make_stream()) {}

void DeviceCopy::start(const std::shared_ptr<void>& keeps_alive, const Thread::Failed& failed) {
  if (tasks_.reads != nullptr) {
    start_threads(
        read_threads_, "gds-", tasks_.reads->threads(),
        [this, keeps_alive](unsigned, const std::stop_token&) { tasks_.reads->run(); }, failed);
  }
  settle_thread_ = std::make_unique<Thread>(
      "penstock-settle", [this, keeps_alive](const std::stop_token&) { settle(); }, failed);
  QueuedStage::start(keeps_alive, failed);
}

bool DeviceCopy::join(std::chrono::milliseconds grace) {
  if (thread_ == nullptr) in_flight_.close();  // ends settle() if run() was never called
  bool ended = QueuedStage::join(grace);
  ended &= settle_thread_ == nullptr || settle_thread_->join_for(grace);
  const Deadline deadline(grace);
  for (Thread& thread : read_threads_) ended &= thread.join_for(deadline.left());
  return ended;
}

void DeviceCopy::run() {
  const auto failure = caught([&] { QueuedStage::run(); });
  in_flight_.close();
  if (failure != nullptr) std::rethrow_exception(failure);
}

bool DeviceCopy::pass(BatchResult& result, std::uint64_t generation) {
  if (result.failure != nullptr) return true;
  Stopwatch watch;
  DeviceSlab* slab = wait_for_room(generation) ? pool_->acquire([&] { return !wants(generation); }) : nullptr;
  clock_.room_wait.add(watch.lap());
  if (slab != nullptr) copy(result, slab, generation);
  return slab != nullptr;
}

void DeviceCopy::copy(BatchResult& result, DeviceSlab* slab, std::uint64_t generation) {
  InFlight copy{.host = std::exchange(result.batch, Batch(DevicePool::lend(pool_, slab)))};
  result.batch.attach(copy.host.attached());
  try {
    copy.begun = event();
    copy.copied = event();
    fill(*slab, copy, result.bad, *stream_, clock_, [&] { return !wants(generation); });
    copy.ended = event();
    copy.ended->record(stream_->handle());
  } catch (...) {
    pool_->device().drain(stream_->handle());  // enqueued work uses the memory of both sides
    result.failure = std::current_exception();
    result.batch = {};
  }
  if (const auto failure = caught([&] { in_flight_.push(std::move(copy)); })) {
    await(copy);  // no other thread waits for it, and the copy uses the host's memory
    std::rethrow_exception(failure);
  }
}

// If the device finds an invalid JPEG, the batch is filled again, on the host only.
void DeviceCopy::fill(DeviceSlab& slab, InFlight& copy, std::vector<BadSample>& bad, const Stream& stream,
                      StageClock& clock, const std::function<bool()>& cancelled) {
  const ProfilerRange range("copy");
  const auto bring = [&] {
    Stopwatch watch;
    if (tasks_.reads != nullptr) slab.read(slab_of(copy.host), *tasks_.reads, cancelled);
    const Clock::time_point began = watch.last();
    const nanoseconds took = watch.lap();
    clock.busy.add(took);
    if (tasks_.reads != nullptr && &clock == &clock_) trace_copy(TraceSpan::Kind::stage, copy, began, took);
    copy.bytes = slab.fill(slab_of(copy.host), tasks_.jpegs, stream.handle(), *copy.begun, *copy.copied);
  };
  Stopwatch watch;
  if (tasks_.reads != nullptr) slab.await_readers(stream.handle(), *copy.begun);
  clock.room_wait.add(watch.lap());
  try {
    bring();
  } catch (const RefusedJpeg&) {
    pool_->device().drain(stream.handle());  // enqueued work uses the memory of both sides
    BatchResult again = tasks_.filled_by_host(copy.host);
    bad = std::move(again.bad);
    copy.host = std::move(again.batch);
    bring();
  }
}

void DeviceCopy::settle() {
  while (std::optional<InFlight> copy = in_flight_.pop({})) {
    await(*copy);
    // From now on, the program owns the parts of the batch that batch_transform kept.
    if (copy->host.slab().use_count() > 1) host_->hand_over(copy->host.slab().get());
  }
}

// A copy that failed while it was enqueued may have no end event; then no part of it is in progress.
void DeviceCopy::await(InFlight& copy) {
  if (copy.ended == nullptr) return;
  try {
    copy.ended->wait();
    const nanoseconds took = pool_->device().between(*copy.begun, *copy.ended);
    clock_.busy.add(took);
    trace_copy(TraceSpan::Kind::copy, copy, Clock::now() - took, took);
    crossing_.add(pool_->device().between(*copy.begun, *copy.copied));
    crossed_bytes_.fetch_add(copy.bytes, std::memory_order_relaxed);
    const std::scoped_lock lock(mutex_);
    events_.push_back(std::move(copy.begun));
    events_.push_back(std::move(copy.copied));
    events_.push_back(std::move(copy.ended));
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
}

// The device does not report the absolute time. The trace assumes that a copy ended just before this thread noticed
// it.
void DeviceCopy::trace_copy(TraceSpan::Kind kind, const InFlight& copy, Clock::time_point began, nanoseconds took) {
  if (!traced()) return;
  const BatchRecord& batch = *copy.host.slab();
  trace_->add({.kind = kind, .begin = began, .took = took, .epoch = batch.epoch, .number = batch.number});
}

std::unique_ptr<Event> DeviceCopy::event() {
  {
    const std::scoped_lock lock(mutex_);
    if (!events_.empty()) {
      std::unique_ptr<Event> used = std::move(events_.back());
      events_.pop_back();
      return used;
    }
  }
  return pool_->device().make_event();
}

void DeviceCopy::give(BatchResult& result) {
  const std::scoped_lock lock(mutex_);
  if (result.failure != nullptr || failure_ == nullptr) return;
  result.failure = failure_;
  result.batch = {};
}

void DeviceCopy::go_to(const Position& position, std::uint64_t generation) {
  QueuedStage::go_to(position, generation);
  pool_->wake();
}

void DeviceCopy::close() {
  QueuedStage::close();
  pool_->wake();
  if (tasks_.reads != nullptr) tasks_.reads->close();
}

std::string DeviceCopy::level() const {
  return std::to_string(ready()) + " batches on " + to_string(pool_->device().id());
}

void DeviceCopy::report(Stats& stats) const {
  Stage::report(stats);
  stats.device = to_string(pool_->device().id()) + ": " + pool_->device().description();
  stats.device_slabs = pool_->size();
  stats.device_bytes += pool_->bytes();
  stats.copied_bytes = crossed_bytes_.load(std::memory_order_relaxed);
  stats.copy_time = crossing_.get();
}

void DeviceCopy::reset_stats() {
  Stage::reset_stats();
  crossing_.reset();
  crossed_bytes_.store(0, std::memory_order_relaxed);
}

Batch DeviceCopy::apply(Batch batch) {
  const std::shared_ptr<DevicePool> pool = pool_->single();
  DeviceSlab* slab = pool->acquire([] { return false; });
  Batch made(DevicePool::lend(pool, slab));
  made.attach(batch.attached());
  const auto stream = pool->device().make_stream();
  InFlight copy{.host = std::move(batch), .begun = pool->device().make_event(), .copied = pool->device().make_event()};
  std::vector<BadSample> bad;
  StageClock unused;
  try {
    fill(*slab, copy, bad, *stream, unused, [] { return false; });
    slab->use().synchronize();
  } catch (...) {
    pool->device().drain(stream->handle());
    throw;
  }
  return made;
}

}  // namespace penstock
