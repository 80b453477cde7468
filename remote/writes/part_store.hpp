// Interface for writing an object in parts to one kind of store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <formats/places/object_store.hpp>

namespace penstock {

/// One object being written. Each call waits for the store, and throws Error: io.
class PartStore {
 public:
  virtual ~PartStore() = default;

  /// Writes the whole object in one request, instead of the calls below.
  virtual ObjectInfo put_whole(std::span<const std::byte> bytes) = 0;

  virtual void begin() = 0;
  /// Sends part `number`, from 1. Returns its name for complete(). Several threads may call it at once, after begin().
  virtual std::string put_part(unsigned number, std::span<const std::byte> bytes) = 0;
  /// `names` are those of all parts, in order; `size` is the total size.
  virtual ObjectInfo complete(const std::vector<std::string>& names, std::uint64_t size) = 0;
  /// Discards what was sent. Called after begin(), when no part is in flight. Does not throw.
  virtual void abandon() noexcept = 0;
};

}  // namespace penstock
