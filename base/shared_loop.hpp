// Independent items of one piece of work, which several threads take one after the other.
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

/// Items begin in rising order, until one throws or the loop is ended. Threads may join at any time, also after the
/// end: then there is nothing left, and the body is not touched.
class SharedLoop {
 public:
  /// Of thread `worker`, as it called itself.
  using Body = std::function<void(unsigned worker, std::uint64_t item, const std::stop_token& stop)>;

  /// body(...) is called once for each item in [0, count). It must live until end() has returned.
  SharedLoop(std::uint64_t count, const Body& body) : count_(count), body_(body) {}

  /// Runs items in the calling thread until none is left.
  void join(unsigned worker) noexcept;
  bool left() const;  ///< whether an item has not begun
  /// True once all items have ended, or one has thrown; false when that takes longer than `time`.
  bool wait_for(std::chrono::milliseconds time);
  /// No item begins any more, those that have are asked to stop. Waits for them; what one threw first, or null.
  std::exception_ptr end();

 private:
  const std::uint64_t count_;
  const Body& body_;
  std::stop_source stop_;
  std::atomic<std::uint64_t> next_{0};  // relaxed: a ticket, it orders nothing
  std::mutex mutex_;                    // guards what follows
  std::condition_variable left_one_;
  unsigned inside_ = 0;
  std::exception_ptr failure_;
};

}  // namespace penstock
