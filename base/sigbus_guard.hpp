// Guards reads of mapped files that may be truncated meanwhile. Only this file of the library handles SIGBUS.
#pragma once

#include <atomic>
#include <csetjmp>
#include <cstddef>
#include <span>

namespace penstock {

/// Installs the handler for SIGBUS unless it is already installed. Others (faulthandler, PyTorch's DataLoader) may
/// replace it at any time, so callers repeat this before they read mapped files; it costs one system call. If a SIGBUS
/// does not belong to a guarded mapping, the handler passes it to the handlers that it found, the latest first. Each of
/// them may pass it to the one before. Thread-safe.
void guard_against_sigbus() noexcept;

namespace sigbus_guard {
struct Range;
void enter(sigjmp_buf* landing) noexcept;
void leave() noexcept;

template <typename Work>
bool run(const Work& work) noexcept {
  sigjmp_buf here;
  // The mask is not saved (0), because that costs a system call; the handler restores it before it jumps.
  if (sigsetjmp(here, 0) != 0) {
    leave();
    return false;
  }
  enter(&here);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  work();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  leave();
  return true;
}
}  // namespace sigbus_guard

/// Runs `work`, which reads mapped files. Returns false if pages are not available (a file was truncated, or its
/// storage failed); a plain read would end the process. In that case a jump has left `work` in the middle. Therefore
/// `work` may only copy bytes: objects that it constructed are not destroyed, and counters must be volatile. Calls must
/// not be nested: the inner one clears the jump target.
template <typename Work>
bool guarded(const Work& work) noexcept {
  guard_against_sigbus();
  return sigbus_guard::run(work);
}

/// The same without a system call, for callers that have just called guard_against_sigbus() and run many small reads.
template <typename Work>
bool guarded_since(const Work& work) noexcept {
  return sigbus_guard::run(work);
}

/// Guarded memcpy from a mapping. If it returns false, `destination` is partly written.
bool copy_from_mapping(void* destination, const void* source, std::size_t bytes) noexcept;

/// A mapping whose unavailable pages read as zeros; the reader checks torn() afterwards. Unlike guarded(), it suits
/// readers that are not aware of the mapping.
class GuardedMapping {
 public:
  GuardedMapping() = default;
  /// Registers `bytes`. They must be mapped from the beginning of a page, and stay mapped until this object ends.
  explicit GuardedMapping(std::span<const std::byte> bytes);
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  ~GuardedMapping();

  /// Returns true if some bytes were unavailable and are zeros now. Once true, it stays true.
  bool torn() const noexcept;

 private:
  sigbus_guard::Range* range_ = nullptr;
};

}  // namespace penstock
