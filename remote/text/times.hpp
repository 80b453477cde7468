// Parses times as stores write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

/// Parses "2026-01-31T12:00:00.123Z", "...+00:00" (ISO 8601, as in XML and JSON). Returns nothing for other forms.
std::optional<std::chrono::system_clock::time_point> iso_time(std::string_view text);

/// Returns nanoseconds since 1970; 0 for no time.
std::int64_t nanoseconds_of(std::optional<std::chrono::system_clock::time_point> time);

}  // namespace penstock
