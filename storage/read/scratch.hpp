// Aligned memory for O_DIRECT reads, reserved once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace penstock {

/// A fixed number of page-aligned buffers in two sizes: most samples are small, and a merged read is large. Pages that
/// are never used cost nothing. Not thread-safe.
class ScratchPool {
 public:
  /// Large buffers hold `large` bytes, `large_count` of them; there are four times as many of a quarter of that.
  /// Throws Error: resource.
  ScratchPool(std::size_t large, std::size_t large_count);

  std::size_t largest() const { return large_; }
  /// A buffer of `bytes` or more; empty when there is none free. bytes <= largest().
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
