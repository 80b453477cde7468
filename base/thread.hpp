// A named thread, which its owner joins.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace penstock {

/// A time that several waits share.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds grace) : at_(std::chrono::steady_clock::now() + grace) {}
  std::chrono::milliseconds left() const {
    const auto left = at_ - std::chrono::steady_clock::now();
    return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left), std::chrono::milliseconds(0));
  }

 private:
  std::chrono::steady_clock::time_point at_;
};

/// Runs `body` with a token that asks it to stop. Move-only; joined when destroyed, replaced or moved onto.
///
/// There is one exception to joining: a thread inside a system call that storage never answers cannot be ended by
/// anyone. join_for() leaves such a thread behind after a grace time. Whatever it may still touch must then outlive it:
/// `body` holds shared ownership of all of its state, and owners that call join_for() say what stays in memory.
class Thread {
 public:
  /// What a body threw. Called in the thread, when the body is over; it should not throw.
  using Failed = std::function<void(const std::exception_ptr& failure)>;

  Thread() = default;
  /// The system shows 15 bytes of `name`. No exception leaves the thread: what `body` throws goes to `failed`, where
  /// that is given. Throws Error: resource, when the system gives no thread.
  Thread(const std::string& name, std::function<void(std::stop_token)> body, Failed failed = {});
  ~Thread();
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;

  void request_stop();
  void join();                                     ///< asks to stop, then waits for the end
  bool join_for(std::chrono::milliseconds grace);  ///< as join(), but false, and left behind, when that takes longer
  bool joinable() const { return thread_.joinable(); }

 private:
  struct End;
  std::stop_source stop_{std::nostopstate};
  std::shared_ptr<End> end_;  // shared with the thread, which may outlive this object
  std::thread thread_;
};

/// Adds `count` threads to `threads`, which are NAME0, NAME1, ... in their order; each gets its number. Throws Error:
/// resource, that tells how many were wanted and which the system refused; those that were added are asked to stop, the
/// caller joins them.
void start_threads(std::vector<Thread>& threads, const std::string& name, unsigned count,
                   const std::function<void(unsigned number, const std::stop_token& stop)>& body,
                   const Thread::Failed& failed = {});

/// For tests: called with the name before each thread begins, in the thread that begins it; may throw in the system's
/// place. Null: nothing is called.
inline std::atomic<void (*)(const std::string& name)> before_thread{nullptr};

}  // namespace penstock
