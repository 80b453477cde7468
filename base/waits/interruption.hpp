// Ends waits when the user interrupts: code that waits for a server checks this about ten times per second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace penstock {

/// While it lives, waits of the thread that made it (for servers, or for threads that wait for servers) end soon after
/// `asked` returns true. They throw Error: resource, "interrupted". A nested one replaces the outer one while it lives.
/// parallel_for() makes one for each body, which ends with the loop.
class Interruptible {
 public:
  /// Only the waiting thread calls `asked`. `asked` must not throw; if it is empty, waits are not interrupted.
  explicit Interruptible(std::function<bool()> asked);
  Interruptible(Interruptible&&) = delete;
  ~Interruptible();

 private:
  friend std::function<bool()> interruption_of_thread();
  friend bool interruption_asked();
  const std::function<bool()> asked_;
  const Interruptible* const before_;
};

/// Interval between two checks of a wait.
inline constexpr std::chrono::milliseconds kBetweenInterruptions{100};

/// Returns the function of this thread's Interruptible, valid while that lives; empty if there is none.
std::function<bool()> interruption_of_thread();

/// Returns true if waits of this thread must end. False without an Interruptible.
bool interruption_asked();

/// Throws Error: resource, "interrupted", if waits must end.
void require_uninterrupted();

/// Waits for `condition`, which `lock` guards, and holds the lock again on return. If it throws Error: resource,
/// "interrupted", the lock is not held.
template <typename Condition>
void wait_interruptibly(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                        const Condition& condition) {
  while (!changed.wait_for(lock, kBetweenInterruptions, condition)) {
    lock.unlock();
    require_uninterrupted();
    lock.lock();
  }
}

/// For an Interruptible around a cleanup after a failure: interrupts once `patience` is over, or after a shorter time
/// if the user has already interrupted.
std::function<bool()> when_patience_ends(std::chrono::milliseconds patience);

}  // namespace penstock
