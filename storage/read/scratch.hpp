// Aligned memory for O_DIRECT reads, reserved once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace penstock {

/// A fixed number of page-aligned buffers in two sizes: most samples are small, and a merged read is large. Unused
/// pages cost nothing. Not thread-safe.
class ScratchPool {
 public:
  /// Makes `large_count` buffers of `large` bytes, and four times as many of a quarter of that size.
  /// Throws Error: resource.
  ScratchPool(std::size_t large, std::size_t large_count);

  std::size_t largest() const { return large_; }
  /// Returns a buffer of at least `bytes` (at most largest()), or an empty span if none is free.
  std::span<std::byte> take(std::size_t bytes);
  void give_back(std::span<std::byte> buffer);

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  std::size_t large_, small_;
  std::unique_ptr<std::byte, Unmap> memory_;
  std::vector<std::byte*> free_large_, free_small_;
};

}  // namespace penstock
