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

/// A time limit that several waits share.
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

/// Runs `body` with a token that requests a stop. Move-only. The destructor and move assignment join.
///
/// There is one exception to joining: no one can end a thread inside a system call that storage never answers.
/// join_for() leaves such a thread behind after a grace time. All data that it may access must then outlive it: `body`
/// shares ownership of all of its state, and owners that call join_for() document which memory is kept.
class Thread {
 public:
  /// Receives the exception of a body. Called in the thread, after the body; it should not throw.
  using Failed = std::function<void(const std::exception_ptr& failure)>;

  Thread() = default;
  /// The system shows 15 bytes of `name`. No exception leaves the thread: exceptions of `body` go to `failed`, if it is
  /// set. Throws Error: resource, if the system cannot start a thread.
  Thread(const std::string& name, std::function<void(std::stop_token)> body, Failed failed = {});
  ~Thread();
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;

  void request_stop();
  void join();                                     ///< requests a stop, then waits for the end
  bool join_for(std::chrono::milliseconds grace);  ///< as join(), but gives up after `grace`, leaves the thread and
                                                   ///< returns false
  bool joinable() const { return thread_.joinable(); }

 private:
  struct End;
  std::stop_source stop_{std::nostopstate};
  std::shared_ptr<End> end_;  // shared with the thread, which may outlive this object
  std::thread thread_;
};

/// Adds `count` threads NAME0, NAME1, ... to `threads`; each receives its number. Throws Error: resource, with the
/// number requested and the one that the system refused. The threads added so far are then asked to stop, and the
/// caller joins them.
void start_threads(std::vector<Thread>& threads, const std::string& name, unsigned count,
                   const std::function<void(unsigned number, const std::stop_token& stop)>& body,
                   const Thread::Failed& failed = {});

/// For tests: called with the name before each thread starts, in the starting thread. The function may throw, to
/// simulate a refusal of the system. Null: no call.
inline std::atomic<void (*)(const std::string& name)> before_thread{nullptr};

}  // namespace penstock
