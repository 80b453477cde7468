// A set of keys that have been seen. It stores sample numbers, because the keys themselves lie in an index.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace penstock {

/// 5 to 11 bytes per key. Not for several threads at once.
class KeyTable {
 public:
  /// `key_of` gives the key of a number that was inserted; it is asked during calls only.
  explicit KeyTable(std::function<std::string_view(std::uint32_t)> key_of) : key_of_(std::move(key_of)) {}

  bool contains(std::string_view key) const;
  /// `number` is the key's, which is not in the table yet; 0xFFFFFFFF cannot be held.
  void insert(std::string_view key, std::uint32_t number);

 private:
  std::size_t slot_of(std::string_view key) const;
  void grow();

  std::function<std::string_view(std::uint32_t)> key_of_;
  std::vector<std::uint32_t> slots_;  // number + 1, or 0; open addressing, a power of two of them
  std::size_t used_ = 0;
};

}  // namespace penstock
