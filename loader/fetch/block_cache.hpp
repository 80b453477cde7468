// A cache of undone blocks, so that a block which several samples share is undone once.
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

/// A bounded cache, least recently used out first. Any number of workers may ask; one of them makes a block, the others
/// that want it meanwhile wait for that.
class BlockCache {
 public:
  using Bytes =
      std::shared_ptr<const std::vector<std::byte>>;  // shared: evicted blocks live on while a worker copies from them

  explicit BlockCache(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  /// The undone bytes of a block; where they are not there, `make` reads and undoes it into a buffer, whose old content
  /// means nothing. What `make` throws is thrown here and not kept.
  Bytes get(std::uint32_t block, const std::function<void(std::vector<std::byte>&)>& make);
  /// True where the block is there or being made; it then counts as just used.
  bool holds(std::uint32_t block);
  std::uint64_t bytes() const;
  std::uint64_t made() const;  ///< blocks undone so far

 private:
  struct Entry {
    std::uint32_t block;
    std::shared_ptr<std::vector<std::byte>> bytes;  // null while it is being made
  };
  void evict();

  // Buffers of blocks that nobody holds any more: fresh memory costs page faults.
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
