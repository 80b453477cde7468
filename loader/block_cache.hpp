// Blocks that several samples share, undone once and kept while there is room.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include <penstock/formats/extent.hpp>

namespace penstock {

/// A bounded cache, least recently used out first. Any number of workers may ask; one of them makes a block, the others
/// that want it meanwhile wait for that.
class BlockCache {
 public:
  using Bytes =
      std::shared_ptr<const std::vector<std::byte>>;  // shared: evicted blocks live on while a worker copies from them

  explicit BlockCache(std::uint64_t capacity_bytes) : capacity_(capacity_bytes) {}

  /// The undone bytes of a block; `make` reads and undoes it where they are not there. What `make` throws is thrown
  /// here and not kept.
  Bytes get(std::uint32_t block, const std::function<std::vector<std::byte>()>& make);
  std::uint64_t bytes() const;

 private:
  struct Entry {
    std::uint32_t block;
    Bytes bytes;  // null while it is being made
  };
  void evict();

  const std::uint64_t capacity_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable made_;
  std::list<Entry> recent_;  // most recent first
  std::unordered_map<std::uint32_t, std::list<Entry>::iterator> entries_;
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock
