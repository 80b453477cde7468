// The interface through which the store engine uses the disk cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// One loader's view of the cache. Thread-safe. No function throws.
class DiskCacheUse {
 public:
  virtual ~DiskCacheUse() = default;
  /// Returns the block size. Blocks begin at its multiples, and the last block ends with the file. 0: the file is not
  /// cached.
  virtual std::uint64_t block_bytes(std::uint32_t file) const noexcept = 0;
  virtual bool has(std::uint32_t file, std::uint64_t block) const noexcept = 0;
  /// Reads bytes of cached, valid blocks from the disk. If it returns false, `bytes` may contain anything.
  virtual bool read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> bytes) noexcept = 0;
  /// Offers a whole block. The cache may copy it and write it to the disk.
  virtual void keep(std::uint32_t file, std::uint64_t block, std::span<const std::byte> bytes) noexcept = 0;
  /// Reports that a cached block was read, so its next use has changed.
  virtual void used(std::uint32_t file, std::uint64_t block) noexcept = 0;
};

}  // namespace penstock
