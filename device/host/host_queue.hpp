// The thread of a HostDevice's stream, and the positions in it that others wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace penstock {

/// Runs work in order. A queue stands for hardware, so it has a thread besides those of the loader.
class HostQueue {
 public:
  HostQueue();
  ~HostQueue();  ///< runs all queued work, then ends
  HostQueue(HostQueue&&) = delete;

  void push(std::function<void()> work);
  void close();  ///< the thread ends after all work
  void drain();  ///< waits until all work queued so far is done; needs no memory

 private:
  void run();

  std::mutex mutex_;  // guards all members below
  std::condition_variable arrived_, done_;
  std::deque<std::function<void()>> work_;
  std::uint64_t pushed_ = 0, finished_ = 0;
  bool closed_ = false;
  std::thread thread_;
};

/// A recorded position in a queue. Reached once.
class HostMark {
 public:
  void reach(std::string failure);
  bool reached() const;
  /// Waits, and returns the failure that had occurred by then; empty: none.
  std::string wait() const;
  std::chrono::steady_clock::time_point when() const;

 private:
  mutable std::mutex mutex_;  // guards the members below
  mutable std::condition_variable changed_;
  bool reached_ = false;
  std::string failure_;
  std::chrono::steady_clock::time_point when_{};
};

}  // namespace penstock
