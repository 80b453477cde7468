// One request whose caller waits for the answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <penstock/base/waits/interruption.hpp>
#include <penstock/remote/http/engine/exchange.hpp>
#include <penstock/remote/http/engine/loop.hpp>
#include <penstock/remote/http/engine/store_counters.hpp>

namespace penstock {

class Sent final : public Exchange, public std::enable_shared_from_this<Sent> {
 public:
  Sent(Loop& loop, StoreCounters& counters, HttpRequest request, std::uint64_t most_bytes, bool again);
  Sent(const Sent&) = delete;
  Sent& operator=(const Sent&) = delete;

  /// Sends it and waits; after `until` it is given up. Calls `waiting` now and then. Throws std::bad_alloc; Error:
  /// resource, "interrupted".
  template <typename Waiting>
  Failure wait(Loop::Clock::time_point until, Waiting&& waiting) {
    post();
    std::unique_lock lock(mutex_);
    while (!done_ && Loop::Clock::now() < until) {
      changed_.wait_until(lock, std::min(until, Loop::Clock::now() + kBetweenInterruptions), [&] { return done_; });
      if (done_) break;
      lock.unlock();
      waiting();
      const bool interrupted = interruption_asked();
      lock.lock();
      if (!interrupted) continue;
      take_back(lock, !request_.body.empty());
      require_uninterrupted();
    }
    if (!done_) take_back(lock, true);
    return std::move(failure_);
  }
  HttpResponse& response() { return response_; }
  HttpRequest& request() { return request_; }
  bool is_too_long() const { return too_long_; }

 private:
  void post();
  void take_back(std::unique_lock<std::mutex>& lock, bool waits);  // which it must where somebody else has the body
  bool begin(HttpRequest& request) override;
  bool on_head(const HttpResponse& head) override;
  bool on_body(std::span<const std::byte> bytes) override;
  void on_end(Failure failure) override;
  void on_connection() override { counters_.add_connection(); }
  void finish(Failure failure);

  Loop& loop_;
  StoreCounters& counters_;
  HttpRequest request_;
  const std::uint64_t most_bytes_;
  const bool again_;
  HttpResponse response_;
  bool too_long_ = false;
  Loop::Clock::time_point began_{};
  std::mutex mutex_;  // guards done_ and failure_
  std::condition_variable changed_;
  bool done_ = false;
  Failure failure_;
};

}  // namespace penstock
