// Reads numbers from JSON that others wrote.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include <penstock/error.hpp>

namespace penstock {

/// Throws Error: corrupt, where the value is no whole number from 0 to 2^63 - 1. The JSON library casts any number that
/// is there, also one written as 1e40 or -1, which is not defined.
template <typename AnyJson>
std::uint64_t whole_number(const AnyJson& value) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_unsigned() || value.template get<std::uint64_t>() > kMost) {
    throw Error::corrupt("a whole number is expected, not " + value.dump());
  }
  return value.template get<std::uint64_t>();
}

}  // namespace penstock
