// Ends waits when the user has enough of them: whoever waits for a server looks here about ten times a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace penstock {

/// While it lives, waits of the thread that made it (for servers, and for other threads that wait for them) end with
/// Error: resource, "interrupted", soon after `asked` returns true. One that is made inside another one takes its place
/// for as long. parallel_for() makes one for each body, which ends with the loop.
class Interruptible {
 public:
  /// `asked` is called from the waiting thread alone, and must not throw; an empty one never asks.
  explicit Interruptible(std::function<bool()> asked);
  Interruptible(Interruptible&&) = delete;
  ~Interruptible();

 private:
  friend std::function<bool()> interruption_of_thread();
  friend bool interruption_asked();
  const std::function<bool()> asked_;
  const Interruptible* const before_;
};

/// How often a wait looks.
inline constexpr std::chrono::milliseconds kBetweenInterruptions{100};

/// What this thread's Interruptible asks, valid for as long as that lives; empty where it has none.
std::function<bool()> interruption_of_thread();

/// Whether waits of this thread are to end. False where it has no Interruptible.
bool interruption_asked();

/// Throws Error: resource, "interrupted", where they are.
void require_uninterrupted();

/// Waits for `condition`, which `lock` guards, and holds that again when it returns. Throws Error: resource,
/// "interrupted", without it.
template <typename Condition>
void wait_interruptibly(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                        const Condition& condition) {
  while (!changed.wait_for(lock, kBetweenInterruptions, condition)) {
    lock.unlock();
    require_uninterrupted();
    lock.lock();
  }
}

/// For an Interruptible around what must be tidied up after a failure: asks once `patience` is over, or a shorter time
/// where the user asked already.
std::function<bool()> when_patience_ends(std::chrono::milliseconds patience);

}  // namespace penstock
