// A set of keys. The table stores sample numbers only, because an index holds the keys themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace penstock {

/// Uses 5 to 11 bytes per key. Not thread-safe.
class KeyTable {
 public:
  /// `key_of` returns the key of an inserted number. The table calls it only while contains() or insert() runs.
  explicit KeyTable(std::function<std::string_view(std::uint32_t)> key_of) : key_of_(std::move(key_of)) {}

  bool contains(std::string_view key) const;
  /// Adds the key of sample `number`. The key must not be in the table yet. 0xFFFFFFFF is not a valid number.
  void insert(std::string_view key, std::uint32_t number);

 private:
  std::size_t slot_of(std::string_view key) const;
  void grow();

  std::function<std::string_view(std::uint32_t)> key_of_;
  std::vector<std::uint32_t> slots_;  // number + 1, or 0 if free; open addressing, size a power of two
  std::size_t used_ = 0;
};

}  // namespace penstock
