// Reads numbers from JSON of outside sources.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include <penstock/error.hpp>

namespace penstock {

/// Throws Error: corrupt, if the value is not a whole number from 0 to 2^63 - 1. The JSON library casts any number,
/// even 1e40 or -1, which is undefined behaviour.
template <typename AnyJson>
std::uint64_t whole_number(const AnyJson& value) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_unsigned() || value.template get<std::uint64_t>() > kMost) {
    throw Error::corrupt("expected a whole number, not " + value.dump());
  }
  return value.template get<std::uint64_t>();
}

}  // namespace penstock
