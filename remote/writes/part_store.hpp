// How a kind of store takes an object in parts.
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

  /// All of the object in one request, in place of all that follows.
  virtual ObjectInfo put_whole(std::span<const std::byte> bytes) = 0;

  virtual void begin() = 0;
  /// Part `number`, from 1; returns what complete() names it by. Called by several threads at once, after begin().
  virtual std::string put_part(unsigned number, std::span<const std::byte> bytes) = 0;
  /// `names` of all parts in order; `size` is theirs together.
  virtual ObjectInfo complete(const std::vector<std::string>& names, std::uint64_t size) = 0;
  /// After begin(), when no part is under way: throws away what was sent. Does not throw.
  virtual void abandon() noexcept = 0;
};

}  // namespace penstock
