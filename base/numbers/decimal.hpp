// Formats numbers.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace penstock {

/// Returns the shortest text that std::from_chars reads back as this number: "0.1", "1e+20", "nan".
template <typename Number>
std::string shortest_decimal(Number number) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

}  // namespace penstock
