// The thread in which libcurl runs.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include <base/fork_gate.hpp>
#include <base/thread.hpp>
#include <remote/http/engine/exchange.hpp>
#include <remote/http/engine/sockets.hpp>
#include <remote/http/engine/transfer.hpp>
#include <remote/http/engine/trust.hpp>
#include <remote/http/settings.hpp>

namespace penstock {

/// Executes exchanges, at most as many at a time as there may be connections; the others wait in order. Other threads
/// may only call post(). Everything else is for posted work and the loop's callbacks.
class Loop final : private ForkGate::Sleepers {
 public:
  using Clock = std::chrono::steady_clock;

  /// A function to run in the loop's thread.
  class Work {
   public:
    virtual ~Work() = default;
    virtual void run() = 0;

   private:
    friend class Loop;
    std::unique_ptr<Work> next_;
  };

  /// Fires once each time it is set, unless it is cancelled.
  class Timer {
   public:
    virtual ~Timer() = default;
    virtual void due() = 0;

   protected:
    Timer() = default;
    Timer(Timer&&) = delete;

   private:
    friend class Loop;
    Clock::time_point at_{};
    bool set_ = false;
  };

  explicit Loop(const RemoteSettings& settings);  ///< throws Error: resource
  Loop(Loop&&) = delete;
  ~Loop();  ///< no exchange may be left

  /// Returns false without running it if the loop has ended. Thread-safe.
  bool post(std::unique_ptr<Work> work) noexcept;
  /// Stops the thread, even while exchanges are in flight. No exchange is answered after that.
  void end() noexcept;

  const RemoteSettings& settings() const { return settings_; }

  // Only in the loop's thread:
  void start(Exchange& exchange);   ///< begins once a connection is free
  void cancel(Exchange& exchange);  ///< no further callbacks; no effect if it is not started
  bool is_under_way(const Exchange& exchange) const { return exchange.transfer_ != nullptr || exchange.waiting_; }
  bool is_sent(const Exchange& exchange) const { return exchange.transfer_ != nullptr; }
  void set(Timer& timer, Clock::time_point at);
  void call_off(Timer& timer);

 private:
  struct Ended {
    Exchange* exchange;
    Failure failure;
  };
  void wake() noexcept override {}  // the loop sleeps outside of the gate
  void run(const std::stop_token& stop);
  void turn();
  void take_posted();
  void run_timers();
  void work_in_curl();
  void begin_waiting();
  void begin(Exchange& exchange);
  void take_ends();
  void give_ends();
  void end_stalled();
  void forget(Transfer& transfer);
  bool may_begin() const { return !waiting_.empty() && under_way_.size() < settings_.connections; }
  int milliseconds_to_wait();
  bool has_answered(const std::string& url);
  static int on_socket(CURL* handle, curl_socket_t socket, int what, void* loop, void* known);
  static int on_timer(CURLM* multi, long milliseconds, void* loop);

  const RemoteSettings settings_;
  const Trust trust_;
  Sockets sockets_;
  CURLM* multi_;
  std::vector<std::unique_ptr<Transfer>> transfers_;  // owns all transfers
  std::vector<Transfer*> free_, under_way_;
  std::deque<Exchange*> waiting_;
  std::vector<Ended> ended_;
  std::set<std::pair<Clock::time_point, Timer*>> timers_;
  std::span<const Sockets::Event> events_ = {};
  Clock::time_point curl_due_ = Clock::time_point::max(), look_at_stalled_ = Clock::time_point::max();
  std::set<std::string> answered_;  // hosts that have answered
  std::string last_answered_;

  std::mutex mutex_;             // guards first_, last_ and over_
  std::unique_ptr<Work> first_;  // posted work
  Work* last_ = nullptr;
  bool over_ = false;
  std::atomic<bool> asleep_{false};
  Thread thread_;
};

/// Makes Work from a function.
template <typename Function>
std::unique_ptr<Loop::Work> loop_work(Function function) {
  struct Made final : Loop::Work {
    explicit Made(Function&& made_of) : call(std::move(made_of)) {}
    void run() override { call(); }
    Function call;
  };
  return std::make_unique<Made>(std::move(function));
}

}  // namespace penstock
