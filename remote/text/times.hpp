// Times as stores write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

/// "2026-01-31T12:00:00.123Z", "...+00:00" (ISO 8601, as XML and JSON have it); none: it is something else.
std::optional<std::chrono::system_clock::time_point> iso_time(std::string_view text);

/// Nanoseconds since 1970; 0: none.
std::int64_t nanoseconds_of(std::optional<std::chrono::system_clock::time_point> time);

}  // namespace penstock
