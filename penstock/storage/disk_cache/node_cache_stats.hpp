// Counts of what was done with a disk cache.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock {

/// What one loader, or one process, did with a cache. Bytes are those of whole blocks.
struct NodeCacheStats {
  std::uint64_t hits = 0;           ///< blocks that were read from the disk
  std::uint64_t misses = 0;         ///< blocks that were asked for and were not there, or not sound
  std::uint64_t bad = 0;            ///< of those, blocks that were there and whose checksum was wrong
  std::uint64_t bytes_read = 0;     ///< from the disk
  std::uint64_t bytes_written = 0;  ///< to the disk
  std::uint64_t bytes_evicted = 0;  ///< to make room
  std::uint64_t bypassed = 0;       ///< blocks that were not kept, since all that is kept is wanted sooner
  std::chrono::nanoseconds reading{}, writing{}, evicting{};  ///< summed over threads
  std::uint64_t used = 0, limit = 0;                          ///< bytes of the folder, now
  NodeCacheStats& operator+=(const NodeCacheStats& other);
  friend bool operator==(const NodeCacheStats&, const NodeCacheStats&) = default;
};

}  // namespace penstock
