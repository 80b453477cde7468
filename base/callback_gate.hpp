// Runs callbacks until it is closed. close() waits for the last running callback.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

/// Protects a callback whose owner is being destroyed: after close() no call is running, and none will begin.
class CallbackGate {
 public:
  /// Calls `callback` unless the gate is closed. Several threads may be inside at once.
  template <typename Call>
  void call(Call&& callback) {
    // acq_rel: everything done inside happens before the code after close().
    const std::uint32_t before = state_.fetch_add(1, std::memory_order_acq_rel);
    if ((before & kClosed) == 0) callback();
    if (state_.fetch_sub(1, std::memory_order_acq_rel) == (kClosed | 1)) state_.notify_all();
  }
  bool closed() const { return (state_.load(std::memory_order_acquire) & kClosed) != 0; }
  void close() {
    std::uint32_t state = state_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
    while (state != kClosed) {
      state_.wait(state, std::memory_order_acquire);
      state = state_.load(std::memory_order_acquire);
    }
  }

 private:
  static constexpr std::uint32_t kClosed = 1u << 31;
  std::atomic<std::uint32_t> state_{0};  // kClosed, and the number of threads inside
};

}  // namespace penstock
