// Storage that gives so many bytes a second, or answers each request after a while, whatever is on its way besides.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <base/thread.hpp>
#include <penstock/loader.hpp>
#include <penstock/storage.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock::test {

/// Either may be nothing.
struct Throttle {
  double bytes_per_s = 0;                ///< of all requests together, one after the other
  std::chrono::microseconds latency{0};  ///< of each request; any number at the same time
};

/// Reads ahead, in a thread of its own.
class ThrottledEngine final : public ReadEngine {
 public:
  static Loader::EngineFactory factory(const Throttle& throttle) {
    return [=](const Dataset& dataset, EngineOptions options, OnRead on_read) {
      options.kind = EngineKind::in_worker;
      auto inner = choose_engine(dataset, options, [](std::uint64_t, const std::exception_ptr&) {});
      return ChosenEngine{std::make_unique<ThrottledEngine>(std::move(inner.engine), throttle, std::move(on_read)),
                          "throttled"};
    };
  }

  ThrottledEngine(std::unique_ptr<ReadEngine> inner, const Throttle& throttle, OnRead on_read)
      : inner_(std::move(inner)), throttle_(throttle), on_read_(std::move(on_read)) {
    thread_ = Thread("throttled", [this](const std::stop_token& stop) { run(stop); });
  }
  ~ThrottledEngine() override { ThrottledEngine::stop(kStopGrace); }

  bool stop(std::chrono::milliseconds grace) override {
    thread_.request_stop();
    thread_.join();
    return inner_->stop(grace);
  }
  EngineKind kind() const override { return EngineKind::pread; }
  bool synchronous() const override { return false; }
  unsigned threads() const override { return 1; }
  EngineStats stats() const override { return inner_->stats(); }

  void submit(std::span<const ReadRequest> requests) override {
    const auto now = Clock::now();
    {
      const std::scoped_lock lock(mutex_);
      for (const ReadRequest& request : requests) {
        Clock::time_point due = now + throttle_.latency;
        if (throttle_.bytes_per_s > 0) {
          const std::chrono::duration<double> takes(static_cast<double>(request.extent.length) / throttle_.bytes_per_s);
          free_ = std::max(free_, now) + std::chrono::duration_cast<Clock::duration>(takes);
          due = std::max(due, free_);
        }
        waiting_.emplace_back(due, request);
      }
    }
    changed_.notify_all();
  }

 private:
  using Clock = std::chrono::steady_clock;
  void run(const std::stop_token& stop) {
    while (true) {
      ReadRequest request{};
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        const auto due = waiting_.front().first;  // in the order of their times
        if (changed_.wait_until(lock, stop, due, [] { return false; }); stop.stop_requested()) return;
        request = waiting_.front().second;
        waiting_.pop_front();
      }
      inner_->submit({&request, 1});
      on_read_(request.tag, nullptr);
    }
  }

  const std::unique_ptr<ReadEngine> inner_;
  const Throttle throttle_;
  const OnRead on_read_;
  std::mutex mutex_;  // guards both
  std::condition_variable_any changed_;
  std::deque<std::pair<Clock::time_point, ReadRequest>> waiting_;
  Clock::time_point free_{};  // likewise
  Thread thread_;
};

}  // namespace penstock::test
