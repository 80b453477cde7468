// A 64-bit hash of names and stamps. The result is the same on every machine, because stored formats depend on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// Spreads every bit of `value` over the whole result: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA
/// 2014).
constexpr std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

inline constexpr std::uint64_t kFnvOffset = 0xCBF29CE484222325;

/// FNV-1a of 64 bits (draft-eastlake-fnv). To hash in parts, pass the hash of the preceding bytes.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = kFnvOffset) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

/// FNV-1a, then mix64.
constexpr std::uint64_t hash64(std::string_view text) {
  return mix64(fnv1a(text));
}

/// 16 digits in lower case.
inline std::string hexadecimal(std::uint64_t value) {
  std::string digits(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  return digits;
}

}  // namespace penstock
