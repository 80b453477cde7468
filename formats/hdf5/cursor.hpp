// Reads HDF5 metadata sequentially, and never past their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <penstock/error.hpp>

namespace penstock {

constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};  ///< HDF5's "undefined address": no storage

/// Widths that a file's superblock sets for all of its metadata.
struct Hdf5Sizes {
  std::uint8_t offset = 8;  ///< bytes of an address
  std::uint8_t length = 8;  ///< bytes of a length
};

/// Every call throws Error: corrupt, if the bytes end too early. All numbers are little-endian.
class Hdf5Cursor {
 public:
  Hdf5Cursor(std::span<const std::byte> bytes, Hdf5Sizes sizes) : rest_(bytes), sizes_(sizes) {}

  std::span<const std::byte> rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

  std::span<const std::byte> take(std::uint64_t bytes) {
    if (bytes > rest_.size()) throw Error::corrupt("HDF5 metadata ends early");
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  void skip(std::uint64_t bytes) { take(bytes); }

  /// Reads a number of 0 to 8 bytes.
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    if (bytes > sizeof(value)) throw Error::corrupt("HDF5 number of " + std::to_string(bytes) + " bytes");
    const auto taken = take(bytes);
    if (bytes != 0) std::memcpy(&value, taken.data(), bytes);
    return value;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::uint64_t length() { return number(sizes_.length); }
  /// Returns kNoAddress if all bits are set, for any width.
  std::uint64_t address() {
    const std::uint64_t value = number(sizes_.offset);
    const bool none = value == ~std::uint64_t{0} >> (64 - 8 * sizes_.offset);
    return none ? kNoAddress : value;
  }
  std::string text(std::uint64_t bytes) {
    const auto taken = take(bytes);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  /// Reads up to and including the next zero byte. The result does not contain the zero byte.
  std::string terminated() {
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != std::byte{0}) ++end;
    std::string found = text(end);
    skip(1);
    return found;
  }
  void expect(std::string_view signature) {
    if (text(signature.size()) != signature)
      throw Error::corrupt("HDF5 metadata without its signature " + std::string(signature));
  }

 private:
  std::span<const std::byte> rest_;
  Hdf5Sizes sizes_;
};

}  // namespace penstock
