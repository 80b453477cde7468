// Parses header values as RFC 9110 defines them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// Value such as "bytes 0-99/1000", "bytes 0-99/*" or "bytes */1000" (section 14.4).
struct ContentRange {
  std::optional<std::uint64_t> first, last;  ///< both or neither
  std::optional<std::uint64_t> size;         ///< of the whole object
};

/// Returns nothing for any other value, including a range that ends before it begins or after the whole.
std::optional<ContentRange> parse_content_range(std::string_view value);

/// Accepts only digits, and only numbers below 2^63, which limits all lengths and offsets. Otherwise returns nothing.
std::optional<std::uint64_t> parse_digits(std::string_view text);

/// Converts "Sun, 06 Nov 1994 08:49:37 GMT" to seconds since 1970 (section 5.6.7, IMF-fixdate). Returns nothing for
/// other values, and for times that nanoseconds since 1970 cannot represent: before 1970, or from 2262 on.
std::optional<std::int64_t> parse_http_date(std::string_view value);

/// Returns true if the text can be part of a header: a line break would begin another header.
bool fits_header(std::string_view text);

/// Returns true if an ETag identifies the exact bytes and can be sent back. "W/" ETags do not identify them (section
/// 8.8.1), and a control character could begin another header.
bool is_strong_etag(std::string_view etag);

std::string_view trimmed(std::string_view text);  ///< without outer spaces, tabs and line breaks
std::string lower_case(std::string_view text);    ///< only A to Z change

/// Returns the name of a header "Name: value".
std::string_view name_of_header(std::string_view header);

}  // namespace penstock
