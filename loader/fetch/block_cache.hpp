// A cache of decompressed blocks. A block that several samples share is decompressed once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <formats/extent.hpp>

namespace penstock {

/// A bounded cache that evicts the least recently used block. Thread-safe: one worker makes a block, and others that
/// need it wait for that worker.
class BlockCache {
 public:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;  // shared: a worker may still copy from an evicted block

  explicit BlockCache(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  /// Returns the decompressed bytes of a block. If they are missing, `make` reads and decompresses the block into a
  /// buffer whose old content is garbage. An exception of `make` is passed on and not kept.
  Bytes get(std::uint32_t block, const std::function<void(std::vector<std::byte>&)>& make);
  /// Returns true if the block is cached or being made. The block then counts as just used.
  bool holds(std::uint32_t block);
  std::uint64_t bytes() const;
  std::uint64_t made() const;  ///< number of blocks decompressed so far

 private:
  struct Entry {
    std::uint32_t block;
    std::shared_ptr<std::vector<std::byte>> bytes;  // null while it is being made
  };
  void evict();

  // Buffers of released blocks are reused, because fresh memory costs page faults.
  struct Spares {
    Spares();
    std::mutex mutex;
    std::vector<std::vector<std::byte>> buffers;
  };
  std::shared_ptr<std::vector<std::byte>> buffer() const;

  const std::uint64_t capacity_;
  const std::shared_ptr<Spares> spares_ = std::make_shared<Spares>();
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable made_;
  std::list<Entry> recent_;  // most recent first
  std::unordered_map<std::uint32_t, std::list<Entry>::iterator> entries_;
  std::uint64_t bytes_ = 0;
  std::uint64_t made_count_ = 0;
};

}  // namespace penstock
