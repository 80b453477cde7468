// Reads a value from bytes that may be unaligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace penstock {

template <typename Value>
Value load(const std::byte* at) {
  static_assert(std::is_trivially_copyable_v<Value>);
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// The caller has checked that the value ends inside the bytes.
template <typename Value>
Value load(std::span<const std::byte> bytes, std::uint64_t at) {
  return load<Value>(bytes.data() + at);
}

}  // namespace penstock
