// The read window: bounded memory where bytes wait between the reader and the workers.
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

/// Buffers in sizes of powers of two from 4 KiB up, recycled by size, at most `capacity_bytes` of them lent out at once
/// (or a single larger one, of whole pages, which is not kept).
class ReadWindow {
 public:
  explicit ReadWindow(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  /// A buffer of at least `bytes`, if there is room now; null otherwise. Throws Error: resource, as acquire(), when the
  /// system has no such memory; nothing is lent then.
  std::byte* try_acquire(std::uint64_t bytes);
  /// Waits for room; null when stopped or once `cancelled` is true (looked at on every release and wake()).
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
  std::uint64_t reserved() const;  ///< bytes of memory held, lent or not

 private:
  std::uint64_t rounded(std::uint64_t bytes) const;
  bool is_kept(std::uint64_t size) const { return size <= capacity_ && std::has_single_bit(size); }
  bool fits(std::uint64_t size) const { return lent_ == 0 || lent_ + size <= capacity_; }
  std::byte* take(std::uint64_t size);
  std::byte* lend(Memory&& memory);
  void drop_others(std::uint64_t size);

  const std::uint64_t capacity_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable_any freed_;
  struct Kind {
    std::vector<Memory> free = {};  // has room for all there are
    std::size_t all = 0;            // lent or free
  };
  std::unordered_map<std::byte*, Memory> lent_buffers_;
  std::vector<Kind> kinds_;  // by log2 of their size
  std::uint64_t lent_ = 0, reserved_ = 0;
};

}  // namespace penstock
