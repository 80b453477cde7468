// Recognises texts that can be stored as integers without a loss.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace penstock {

/// Returns the number if the text is exactly what std::to_string() writes for it: "7", "-1", but not "07", "+7" or
/// "7\n".
inline std::optional<std::int64_t> plain_integer(std::span<const std::byte> text) {
  const auto* begin = reinterpret_cast<const char*>(text.data());
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(begin, begin + text.size(), value);
  if (failure != std::errc() || std::to_string(value) != std::string(begin, text.size())) return std::nullopt;
  return value;
}

}  // namespace penstock
