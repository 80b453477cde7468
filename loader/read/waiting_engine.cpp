#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include <penstock/base/caught.hpp>
#include <penstock/loader/read/waiting_engine.hpp>

namespace penstock {
namespace {

/// Requests of one caller that waits for all of them.
struct Awaited {
  std::mutex mutex;
  std::condition_variable all_came;
  std::size_t left = 0;
};

struct AwaitedRead {
  Awaited* by = nullptr;
  std::exception_ptr failure = {};
};

void come(std::uint64_t tag, std::exception_ptr failure) {
  AwaitedRead& read = *reinterpret_cast<AwaitedRead*>(tag);
  read.failure = std::move(failure);
  const std::scoped_lock lock(read.by->mutex);
  if (--read.by->left == 0) read.by->all_came.notify_all();
}

}  // namespace

WaitingEngine::WaitingEngine(const std::function<std::unique_ptr<ReadEngine>(OnRead)>& make, OnRead on_read)
    : on_read_(std::move(on_read)), engine_(make(come)) {}

WaitingEngine::~WaitingEngine() {
  stop(kStopGrace);
}

// Callers that wait are let go before the engine stops to answer.
bool WaitingEngine::stop(std::chrono::milliseconds grace) {
  engine_->cancel();
  return engine_->stop(grace);
}

void WaitingEngine::submit(std::span<const ReadRequest> requests) {
  Awaited awaited;
  awaited.left = requests.size();
  std::vector<AwaitedRead> reads;
  std::vector<ReadRequest> asked;
  const auto failure = caught([&] {
    reads.resize(requests.size(), {&awaited});
    asked.assign(requests.begin(), requests.end());
  });
  if (failure != nullptr) {
    for (const ReadRequest& request : requests) on_read_(request.tag, failure);
    return;
  }
  for (std::size_t i = 0; i < asked.size(); ++i) asked[i].tag = reinterpret_cast<std::uint64_t>(&reads[i]);
  engine_->submit(asked);
  {
    std::unique_lock lock(awaited.mutex);
    awaited.all_came.wait(lock, [&] { return awaited.left == 0; });
  }
  for (std::size_t i = 0; i < reads.size(); ++i) on_read_(requests[i].tag, std::move(reads[i].failure));
}

}  // namespace penstock
