// One request whose caller waits for the answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include <base/caught.hpp>
#include <base/waits/interruption.hpp>
#include <penstock/base/error.hpp>
#include <remote/http/engine/exchange.hpp>
#include <remote/http/engine/loop.hpp>
#include <remote/http/engine/store_counters.hpp>

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
    std::unique_ptr<Loop::Work> end = give_up();  // made before it is needed, when there may be no memory
    post();
    bool interrupted = false;
    std::unique_lock lock(mutex_);
    const std::exception_ptr thrown = caught([&] {
      while (!done_ && !interrupted && Loop::Clock::now() < until) {
        changed_.wait_until(lock, std::min(until, Loop::Clock::now() + kBetweenInterruptions), [&] { return done_; });
        if (done_) break;
        lock.unlock();
        waiting();
        interrupted = interruption_asked();
        lock.lock();
      }
    });
    if (!lock.owns_lock()) lock.lock();
    // Where somebody else has the body, the loop must be done with it.
    const bool waits = (!interrupted && thrown == nullptr) || !request_.body.empty();
    const bool given_up = !done_;
    if (given_up) take_back(lock, std::move(end), waits);
    if (thrown != nullptr) std::rethrow_exception(thrown);
    if (given_up && interrupted) throw Error::resource("interrupted");
    return std::move(failure_);
  }
  HttpResponse& response() { return response_; }
  HttpRequest& request() { return request_; }
  bool is_too_long() const { return too_long_; }

 private:
  void post();
  std::unique_ptr<Loop::Work> give_up();
  void take_back(std::unique_lock<std::mutex>& lock, std::unique_ptr<Loop::Work> end, bool waits);
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
