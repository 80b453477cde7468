// Guards reads of mapped files that may be cut short meanwhile. The library handles SIGBUS here and nowhere else.
#pragma once

#include <atomic>
#include <csetjmp>
#include <cstddef>
#include <span>

namespace penstock {

/// Makes the handler for SIGBUS the process's, unless it is already. Others (faulthandler, PyTorch's DataLoader) may
/// put theirs in its place at any time, so this is called again wherever mapped files are read; it is one system call.
/// A SIGBUS that has nothing to do with a mapping guarded here goes on to the handlers that were found in place, the
/// latest first; each of them may hand it on to the one before it. Any number of threads may call this.
void guard_against_sigbus() noexcept;

namespace sigbus_guard {
struct Range;
void enter(sigjmp_buf* landing) noexcept;
void leave() noexcept;

template <typename Work>
bool run(const Work& work) noexcept {
  sigjmp_buf here;
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

/// Runs `work`, which reads mapped files. False when pages cannot be had (a file was cut short, or its storage failed),
/// where a plain read would end the process; `work` has then been left where it was. So it may only copy bytes: what it
/// has constructed by then is not destroyed, and what it counts must be volatile.
template <typename Work>
bool guarded(const Work& work) noexcept {
  guard_against_sigbus();
  return sigbus_guard::run(work);
}

/// The same without a system call, for who has called guard_against_sigbus() a moment ago and does little here, often.
template <typename Work>
bool guarded_since(const Work& work) noexcept {
  return sigbus_guard::run(work);
}

/// memcpy from a mapping, guarded; `destination` is written in part where this is false.
bool copy_from_mapping(void* destination, const void* source, std::size_t bytes) noexcept;

/// A mapping whose pages read as zeros once they cannot be had: whoever reads it asks torn() afterwards. Unlike
/// guarded(), this serves readers that do not know that they read a mapping.
class GuardedMapping {
 public:
  GuardedMapping() = default;
  /// Takes note of `bytes`, which are mapped from a page's beginning and stay so until this object ends.
  explicit GuardedMapping(std::span<const std::byte> bytes);
  GuardedMapping(GuardedMapping&& other) noexcept;
  GuardedMapping& operator=(GuardedMapping&& other) noexcept;
  ~GuardedMapping();

  /// Some of its bytes could not be had and are zeros now. Once true, it stays so.
  bool torn() const noexcept;

 private:
  sigbus_guard::Range* range_ = nullptr;
};

}  // namespace penstock
