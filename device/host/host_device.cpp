#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include <device/host/host_device.hpp>
#include <device/host/host_queue.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::align_val_t kAlignment{256};     // same as CUDA's
constexpr const char* kNoMemory = "no memory";  // short enough to fit a string without an allocation

std::uint64_t sum_of(const std::map<void*, std::uint64_t>& memory) {
  std::uint64_t all = 0;
  for (const auto& [data, bytes] : memory) all += bytes;
  return all;
}

struct Release {
  void operator()(void* data) const { ::operator delete(data, kAlignment); }
};

}  // namespace

class HostEvent final : public Event {
 public:
  explicit HostEvent(HostDevice& device) : device_(device) {}

  void record(StreamHandle stream) override {
    device_.require_sound("record");
    auto mark = std::make_shared<HostMark>();
    device_.queue(stream).push([mark, &device = device_] {
      std::string failure = kNoMemory;
      try {
        failure = device.failure();
      } catch (const std::bad_alloc&) {  // waiting threads get the failure anyway
      }
      mark->reach(std::move(failure));
    });
    const std::scoped_lock lock(mutex_);
    mark_ = std::move(mark);
  }
  bool done() const override {
    const auto last = mark();
    if (last == nullptr) return true;
    if (!last->reached()) return false;
    require_success(last->wait());
    return true;
  }
  void wait() const override {
    if (const auto last = mark()) require_success(last->wait());
  }
  std::shared_ptr<const HostMark> mark() const {
    const std::scoped_lock lock(mutex_);
    return mark_;
  }

 private:
  void require_success(const std::string& failure) const {
    if (!failure.empty()) throw Error::resource(to_string(device_.id()) + ": event: " + failure);
  }

  HostDevice& device_;
  mutable std::mutex mutex_;  // guards mark_
  std::shared_ptr<const HostMark> mark_;
};

class HostDevice::OwnStream final : public Stream {
 public:
  OwnStream(HostDevice& device, StreamHandle handle) : device_(device), handle_(handle) {}
  ~OwnStream() override {
    const std::scoped_lock lock(device_.mutex_);
    auto found = device_.queues_.find(handle_);
    found->second->close();
    device_.ended_.push_back(std::move(found->second));
    device_.queues_.erase(found);
  }
  StreamHandle handle() const override { return handle_; }

 private:
  HostDevice& device_;
  const StreamHandle handle_;
};

HostDevice::HostDevice(int number, HostDeviceOptions options) : number_(number), options_(std::move(options)) {}

HostDevice::~HostDevice() {
  std::map<StreamHandle, std::unique_ptr<HostQueue>> queues;
  std::vector<std::unique_ptr<HostQueue>> ended;
  {
    const std::scoped_lock lock(mutex_);
    queues.swap(queues_);
    ended.swap(ended_);
  }
  for (const auto& [handle, queue] : queues) queue->close();
}

void HostDevice::pin(void* data, std::uint64_t bytes) {
  if (!options_.refuse_pin.empty()) throw Error::resource(to_string(id()) + ": pin: " + options_.refuse_pin);
  const std::scoped_lock lock(mutex_);
  pins_.emplace(data, bytes);
}

void HostDevice::unpin(void* data) noexcept {
  const std::scoped_lock lock(mutex_);
  pins_.erase(data);
}

void* HostDevice::allocate(std::uint64_t bytes) {
  require_sound("allocate");
  const std::scoped_lock lock(mutex_);
  const std::uint64_t all = bytes + sum_of(allocations_);
  const bool refused = options_.memory_bytes != 0 && all > options_.memory_bytes;
  std::unique_ptr<void, Release> data(
      refused ? nullptr : ::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow));
  if (data == nullptr) {
    throw Error::resource(to_string(id()) + ": allocate: no memory for " + std::to_string(bytes) + " bytes");
  }
  allocations_.emplace(data.get(), bytes);
  return data.release();
}

void HostDevice::deallocate(void* data) noexcept {
  {
    std::unique_lock lock(mutex_);
    allocations_.erase(data);
    // After a failure, events no longer show which work still runs, so waits for all running work.
    if (!failure_.empty()) rested_.wait(lock, [this] { return running_ == 0; });
  }
  Release()(data);
}

std::unique_ptr<Stream> HostDevice::make_stream() {
  require_sound("make_stream");
  auto queue = std::make_unique<HostQueue>();
  const std::scoped_lock lock(mutex_);
  const StreamHandle handle = next_handle_++;
  ended_.reserve(ended_.size() + queues_.size() + 1);  // ending a stream then needs no memory
  const auto placed = queues_.emplace(handle, std::move(queue)).first;
  try {
    return std::make_unique<OwnStream>(*this, handle);
  } catch (...) {
    queues_.erase(placed);
    throw;
  }
}

std::unique_ptr<Event> HostDevice::make_event() {
  return std::make_unique<HostEvent>(*this);
}

HostQueue& HostDevice::queue(StreamHandle stream) {
  const std::scoped_lock lock(mutex_);
  const auto found = queues_.find(stream);
  if (found != queues_.end()) return *found->second;
  if (stream != kDefaultStream && stream != kThreadStream) {
    throw Error::invalid_argument(to_string(id()) + " has no stream " + std::to_string(stream));
  }
  ended_.reserve(ended_.size() + queues_.size() + 1);
  return *queues_.emplace(stream, std::make_unique<HostQueue>()).first->second;
}

void HostDevice::wait(StreamHandle stream, const Event& event) {
  require_sound("wait");
  const auto mark = static_cast<const HostEvent&>(event).mark();
  HostQueue& waiter = queue(stream);
  if (mark != nullptr) waiter.push([mark] { mark->wait(); });
}

void HostDevice::drain(StreamHandle stream) noexcept {
  HostQueue* queue = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = queues_.find(stream); found != queues_.end()) queue = found->second.get();
  }
  if (queue != nullptr) queue->drain();
}

std::chrono::nanoseconds HostDevice::between(const Event& from, const Event& to) const {
  const auto begun = static_cast<const HostEvent&>(from).mark(), ended = static_cast<const HostEvent&>(to).mark();
  if (begun == nullptr || ended == nullptr) return {};
  return ended->when() - begun->when();
}

void HostDevice::copy_in(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) {
  work(stream, HostWork::Kind::copy_in, bytes, [=] { std::memcpy(to, from, bytes); });
}

void HostDevice::copy_out(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) {
  work(stream, HostWork::Kind::copy_out, bytes, [=] { std::memcpy(to, from, bytes); });
}

void HostDevice::run(const ImagePass& pass, StreamHandle stream) {
  check(pass);
  work(stream, HostWork::Kind::image, 0, [pass] { run_on_host(pass); });
}

void HostDevice::run(const PointPass& pass, StreamHandle stream) {
  check(pass);
  work(stream, HostWork::Kind::points, 0, [pass] { run_on_host(pass); });
}

void HostDevice::run(const ResamplePass& pass, StreamHandle stream) {
  check(pass);
  work(stream, HostWork::Kind::resample, 0, [pass] { run_on_host(pass); });
}

void HostDevice::enqueue(StreamHandle stream, std::function<void()> work) {
  require_sound("enqueue");
  queue(stream).push([this, work = std::move(work)] { run_if_sound(work); });
}

void HostDevice::work(StreamHandle stream, HostWork::Kind kind, std::uint64_t bytes, std::function<void()> work) {
  enqueue(stream, [this, kind, bytes, work = std::move(work)] {
    try {
      begin(kind, bytes);
      if (failure().empty()) work();
    } catch (const std::exception& error) {
      fail(error.what());
    } catch (...) {
      fail("an exception of an unknown type");
    }
  });
}

void HostDevice::run_if_sound(const std::function<void()>& work) {
  {
    const std::scoped_lock lock(mutex_);
    if (!failure_.empty()) return;
    ++running_;
  }
  work();
  const std::scoped_lock lock(mutex_);
  if (--running_ == 0) rested_.notify_all();
}

void HostDevice::begin(HostWork::Kind kind, std::uint64_t bytes) {
  if (options_.before) options_.before({kind, bytes, begun_.fetch_add(1, std::memory_order_relaxed)});
}

void HostDevice::fail(const char* cause) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!failure_.empty()) return;
  try {
    failure_ = cause;
  } catch (const std::bad_alloc&) {
    failure_ = kNoMemory;
  }
}

std::string HostDevice::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void HostDevice::require_sound(const char* call) const {
  if (const std::string cause = failure(); !cause.empty()) {
    throw Error::resource(to_string(id()) + ": " + call + ": " + cause);
  }
}

std::uint64_t HostDevice::allocated() const {
  const std::scoped_lock lock(mutex_);
  return sum_of(allocations_);
}

std::uint64_t HostDevice::pinned() const {
  const std::scoped_lock lock(mutex_);
  return sum_of(pins_);
}

std::uint64_t HostDevice::attached() const {
  const std::scoped_lock lock(mutex_);
  return sum_of(attached_);
}

}  // namespace penstock
