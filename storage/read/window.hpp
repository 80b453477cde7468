// The read window: bounded memory that holds bytes between the reader and the workers.
#pragma once

#include <bit>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include <base/memory.hpp>

namespace penstock {

/// Buffers in powers of two from 4 KiB up, recycled by size. At most `capacity_bytes` are lent at once. The exception
/// is a single larger buffer of whole pages, which is not kept.
class ReadWindow {
 public:
  explicit ReadWindow(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  /// Returns a buffer of at least `bytes` if there is room now, otherwise null. Throws Error: resource, as acquire(),
  /// if the system has no such memory; no buffer is lent then.
  std::byte* try_acquire(std::uint64_t bytes);
  /// Waits for room. Returns null if stopped or once `cancelled` is true (checked on every release and wake()).
  template <typename Cancelled>
  std::byte* acquire(std::uint64_t bytes, std::stop_token stop, Cancelled cancelled) {
    std::unique_lock lock(mutex_);
    const std::uint64_t size = rounded(bytes);
    freed_.wait(lock, stop, [&] { return fits(size) || cancelled(); });
    if (stop.stop_requested() || cancelled() || !fits(size)) return nullptr;
    return take(size);
  }
  void release(std::byte* buffer) noexcept;
  void wake();
  std::uint64_t reserved() const;  ///< bytes of memory held, lent or free

 private:
  std::uint64_t rounded(std::uint64_t bytes) const;
  bool is_kept(std::uint64_t size) const { return size <= capacity_ && std::has_single_bit(size); }
  bool fits(std::uint64_t size) const { return lent_ == 0 || lent_ + size <= capacity_; }
  std::byte* take(std::uint64_t size);
  std::byte* lend(Memory&& memory);
  void drop_others(std::uint64_t size);

  const std::uint64_t capacity_;
  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable_any freed_;
  struct Kind {
    std::vector<Memory> free = {};  // capacity for all buffers, so that release() does not allocate
    std::size_t all = 0;            // number of lent and free buffers
  };
  std::unordered_map<std::byte*, Memory> lent_buffers_;
  std::vector<Kind> kinds_;  // by log2 of the buffer size
  std::uint64_t lent_ = 0, reserved_ = 0;
};

}  // namespace penstock
