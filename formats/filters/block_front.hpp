// Consumes a compressed block from its front. All reads stay inside the block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <penstock/error.hpp>

namespace penstock {

/// Not thread-safe. `codec` names the codec in errors and must outlive the object.
class BlockFront {
 public:
  BlockFront(std::span<const std::byte> bytes, const char* codec) : rest_(bytes), codec_(codec) {}

  bool empty() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }
  /// These throw Error: corrupt, if fewer than `count` bytes are left. Numbers have at most 8 bytes.
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > rest_.size()) throw Error::corrupt(std::string(codec_) + " block ends early");
    const std::span<const std::byte> taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  void skip(std::uint64_t count) { take(count); }
  std::uint64_t little(std::size_t count) {
    const std::span<const std::byte> bytes = take(count);
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return value;
  }
  std::uint64_t big(std::size_t count) {
    std::uint64_t value = 0;
    for (const std::byte byte : take(count)) value = value << 8 | std::to_integer<std::uint64_t>(byte);
    return value;
  }

  Error broken() const { return Error::corrupt(std::string(codec_) + " block is broken"); }
  Error holds_other(std::size_t expected) const {
    return Error::corrupt(std::string(codec_) + " block does not hold " + std::to_string(expected) + " bytes");
  }

 private:
  std::span<const std::byte> rest_;
  const char* codec_;
};

}  // namespace penstock
