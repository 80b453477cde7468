// Values of headers, as RFC 9110 writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

/// "bytes 0-99/1000", "bytes 0-99/*" or "bytes */1000" (section 14.4).
struct ContentRange {
  std::optional<std::uint64_t> first, last;  ///< both or neither
  std::optional<std::uint64_t> size;         ///< of the whole
};

/// None of anything else, also of a range that ends before it begins or behind the whole.
std::optional<ContentRange> parse_content_range(std::string_view value);

/// Digits alone, of a number below 2^63, which all lengths and offsets are; none of anything else.
std::optional<std::uint64_t> parse_digits(std::string_view text);

/// "Sun, 06 Nov 1994 08:49:37 GMT" as seconds since 1970 (section 5.6.7, IMF-fixdate); none of anything else,
/// nor of a time that nanoseconds since 1970 cannot tell: before 1970, or from 2262 on.
std::optional<std::int64_t> parse_http_date(std::string_view value);

/// Whether it can be part of a header: a line's end in it would begin another one.
bool fits_header(std::string_view text);

/// Whether an ETag tells bytes apart and can be sent back: "W/" ones do not (section 8.8.1), and with a control
/// character one would be a header of its own.
bool is_strong_etag(std::string_view etag);

std::string_view trimmed(std::string_view text);  ///< without outer spaces, tabs and ends of lines
std::string lower_case(std::string_view text);    ///< of A to Z

/// Of one header, "Name: value".
std::string_view name_of_header(std::string_view header);

}  // namespace penstock
