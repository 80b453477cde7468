// What the engine of stores asks of the disk cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

/// One loader's view of the cache. Any number of threads may use it; none of it throws.
class DiskCacheUse {
 public:
  virtual ~DiskCacheUse() = default;
  /// Blocks begin at multiples of it, and the last one ends with the file; 0: nothing is kept of that file.
  virtual std::uint64_t block_bytes(std::uint32_t file) const noexcept = 0;
  virtual bool has(std::uint32_t file, std::uint64_t block) const noexcept = 0;
  /// Bytes of blocks that are there and sound. False otherwise: `bytes` may then hold anything. Reads the disk.
  virtual bool read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> bytes) noexcept = 0;
  /// A whole block, of which it may take a copy. Writes to the disk.
  virtual void keep(std::uint32_t file, std::uint64_t block, std::span<const std::byte> bytes) noexcept = 0;
  /// A block that was wanted, and was there: when it is next wanted is another time now.
  virtual void used(std::uint32_t file, std::uint64_t block) noexcept = 0;
};

}  // namespace penstock
