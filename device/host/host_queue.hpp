// The thread of a HostDevice's stream, and the points in the stream that others wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace penstock {

/// Work in order. It stands in the place of hardware: the one thread beside those of the loader.
class HostQueue {
 public:
  HostQueue();
  ~HostQueue();  ///< does all that was pushed, then ends
  HostQueue(HostQueue&&) = delete;

  void push(std::function<void()> work);
  void close();  ///< the thread ends once all is done
  void drain();  ///< waits until all that was pushed so far is done; needs no memory

 private:
  void run();

  std::mutex mutex_;  // guards all below
  std::condition_variable arrived_, done_;
  std::deque<std::function<void()>> work_;
  std::uint64_t pushed_ = 0, finished_ = 0;
  bool closed_ = false;
  std::thread thread_;
};

/// One recorded place. Reached once.
class HostMark {
 public:
  void reach(std::string failure);
  bool reached() const;
  /// Waits, then tells what had failed by then; empty: nothing.
  std::string wait() const;
  std::chrono::steady_clock::time_point when() const;

 private:
  mutable std::mutex mutex_;  // guards the rest
  mutable std::condition_variable changed_;
  bool reached_ = false;
  std::string failure_;
  std::chrono::steady_clock::time_point when_{};
};

}  // namespace penstock
