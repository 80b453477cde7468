#include <utility>

#include <penstock/base/caught.hpp>
#include <penstock/loader/device/device_copy.hpp>

namespace penstock {
namespace {

const Slab& slab_of(const Batch& host) {
  return static_cast<const Slab&>(*host.slab());
}

}  // namespace

DeviceCopy::DeviceCopy(std::shared_ptr<DevicePool> pool, std::shared_ptr<SlabPool> host, Source source, unsigned ahead,
                       StageClocks& clocks, DeviceTasks tasks)
    : pool_(std::move(pool)),
      host_(std::move(host)),
      source_(std::move(source)),
      clocks_(clocks),
      tasks_(std::move(tasks)),
      stream_(pool_->device().make_stream()),
      queue_(ahead, {}) {}

void DeviceCopy::run() {
  const auto failure = caught([&] {
    while (const auto generation = queue_.next_generation()) {
      for (std::uint64_t sequence = 0; advance(*generation, sequence);) ++sequence;
    }
  });
  in_flight_.close();
  if (failure != nullptr) std::rethrow_exception(failure);
}

bool DeviceCopy::advance(std::uint64_t generation, std::uint64_t sequence) {
  Stopwatch watch;
  std::optional<BatchResult> result = source_(generation, sequence);
  clocks_.copy.stalled_in.add(watch.lap());
  if (!result) return false;
  if (result->failure == nullptr) {
    DeviceSlab* slab =
        queue_.wait_for_room(generation) ? pool_->acquire([&] { return !queue_.wants(generation); }) : nullptr;
    clocks_.copy.stalled_out.add(watch.lap());
    if (slab == nullptr) return false;
    copy(*result, slab, generation);
  }
  result->journey.copied = Clock::now();
  std::list<BatchResult> one;
  one.push_back(std::move(*result));
  return queue_.put(generation, std::move(one));
}

void DeviceCopy::copy(BatchResult& result, DeviceSlab* slab, std::uint64_t generation) {
  InFlight copy{.host = std::exchange(result.batch, Batch(DevicePool::lend(pool_, slab)))};
  result.batch.attach(copy.host.attached());
  const auto read = [&] {
    if (tasks_.reads == nullptr) return;
    Stopwatch watch;
    slab->read(slab_of(copy.host), *tasks_.reads, [&] { return !queue_.wants(generation); });
    clocks_.copy.busy.add(watch.lap());
  };
  const auto fill = [&] {
    copy.bytes = slab->fill(slab_of(copy.host), tasks_.jpegs, stream_->handle(), *copy.begun, *copy.copied);
  };
  try {
    copy.begun = event();
    copy.copied = event();
    if (tasks_.reads != nullptr) {
      Stopwatch watch;
      slab->await_readers(stream_->handle(), *copy.begun);
      clocks_.copy.stalled_out.add(watch.lap());
    }
    read();
    try {
      fill();
    } catch (const RefusedJpeg&) {
      pool_->device().drain(stream_->handle());  // what was enqueued uses the memory of both sides
      BatchResult again = tasks_.filled_by_host(copy.host);
      result.bad = std::move(again.bad);
      copy.host = std::move(again.batch);
      read();
      fill();
    }
    copy.ended = event();
    copy.ended->record(stream_->handle());
  } catch (...) {
    pool_->device().drain(stream_->handle());  // what was enqueued uses the memory of both sides
    result.failure = std::current_exception();
    result.batch = {};
  }
  if (const auto failure = caught([&] { in_flight_.push(std::move(copy)); })) {
    await(copy);  // nobody else will, and the host's memory is in use until then
    std::rethrow_exception(failure);
  }
}

void DeviceCopy::settle() {
  while (std::optional<InFlight> copy = in_flight_.pop({})) {
    await(*copy);
    // What the user's own step kept of the batch is the program's from now on.
    if (copy->host.slab().use_count() > 1) host_->hand_over(copy->host.slab().get());
  }
}

// A copy whose enqueueing failed may have recorded no end; then nothing of it is under way.
void DeviceCopy::await(InFlight& copy) {
  if (copy.ended == nullptr) return;
  try {
    copy.ended->wait();
    clocks_.copy.busy.add(pool_->device().between(*copy.begun, *copy.ended));
    clocks_.crossing.add(pool_->device().between(*copy.begun, *copy.copied));
    clocks_.crossed_bytes.fetch_add(copy.bytes, std::memory_order_relaxed);
    const std::scoped_lock lock(mutex_);
    events_.push_back(std::move(copy.begun));
    events_.push_back(std::move(copy.copied));
    events_.push_back(std::move(copy.ended));
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
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

std::optional<BatchResult> DeviceCopy::take(std::chrono::milliseconds timeout) {
  std::optional<BatchResult> result = queue_.take(timeout);
  if (!result) return std::nullopt;
  {
    const std::scoped_lock lock(mutex_);
    if (result->failure == nullptr && failure_ != nullptr) {
      result->failure = failure_;
      result->batch = {};
    }
  }
  if (result->failure == nullptr) pool_->hand_over(result->batch.slab().get());
  return result;
}

void DeviceCopy::go_to(std::uint64_t generation) {
  queue_.go_to(generation);
  pool_->wake();
}

void DeviceCopy::close() {
  queue_.close();
  pool_->wake();
}

Batch DeviceCopy::copied(const std::shared_ptr<DevicePool>& pool, const Batch& batch, const DeviceTasks& tasks) {
  DeviceSlab* slab = pool->acquire([] { return false; });
  Batch made(DevicePool::lend(pool, slab));
  made.attach(batch.attached());
  const auto stream = pool->device().make_stream();
  const auto begun = pool->device().make_event(), copied = pool->device().make_event();
  const auto read = [&](const Batch& host) {
    if (tasks.reads != nullptr) slab->read(slab_of(host), *tasks.reads, [] { return false; });
  };
  const auto fill = [&](const Batch& host) {
    slab->fill(slab_of(host), tasks.jpegs, stream->handle(), *begun, *copied);
    slab->use().synchronize();
  };
  std::optional<BatchResult> again;
  try {
    if (tasks.reads != nullptr) slab->await_readers(stream->handle(), *begun);
    read(batch);
    try {
      fill(batch);
    } catch (const RefusedJpeg&) {
      pool->device().drain(stream->handle());  // what was enqueued uses the memory of both sides
      again.emplace(tasks.filled_by_host(batch));
      read(again->batch);
      fill(again->batch);
    }
  } catch (...) {
    pool->device().drain(stream->handle());
    throw;
  }
  return made;
}

}  // namespace penstock
