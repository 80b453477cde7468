// A loop of independent items, which several threads execute together.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>

namespace penstock {

/// Items start in ascending order, until one throws or the loop is ended. Threads may join at any time. After the end
/// nothing is left, and `body` is not accessed.
class SharedLoop {
 public:
  /// `worker` is the number that the thread passed to join().
  using Body = std::function<void(unsigned worker, std::uint64_t item, const std::stop_token& stop)>;

  /// Calls body(...) once for each item in [0, count). `body` must live until end() has returned.
  SharedLoop(std::uint64_t count, const Body& body) : count_(count), body_(body) {}

  /// Runs items in the calling thread until none is left.
  void join(unsigned worker) noexcept;
  bool left() const;  ///< true if an item has not begun
  /// Returns true once all items have ended or one has thrown; false if that takes longer than `time`.
  bool wait_for(std::chrono::milliseconds time);
  /// Starts no further items, asks running ones to stop, and waits for them. Returns the first exception, or null.
  std::exception_ptr end();

 private:
  const std::uint64_t count_;
  const Body& body_;
  std::stop_source stop_;
  std::atomic<std::uint64_t> next_{0};  // relaxed: a ticket; orders nothing
  std::mutex mutex_;                    // guards the members below
  std::condition_variable left_one_;
  unsigned inside_ = 0;
  std::exception_ptr failure_;
};

}  // namespace penstock
