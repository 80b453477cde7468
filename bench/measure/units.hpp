// Formats and parses numbers as people write them: "1,204", "256.0 MiB", "00:41".
#pragma once

#include <cstdint>
#include <string>

#include <base/amounts.hpp>
#include <base/printable.hpp>

namespace penstock {

std::string hex(std::uint64_t number);         ///< 16 digits
std::string fixed(double number, int digits);  ///< `digits` after the point
std::string bytes_text(std::uint64_t bytes);   ///< "512 B", "2.4 KiB", "256.0 MiB"
std::string seconds_text(double seconds);      ///< "41 s", "3:20", "2:03:20"

struct CountRange {
  std::uint64_t fewest, most;
  friend bool operator==(const CountRange&, const CountRange&) = default;
};
/// Parses "4096", "200000-600000" or "200k-1.5M": one number, or two in ascending order. k means thousands, M millions.
/// Throws Error: invalid_argument.
CountRange parse_count_range(const std::string& text);

}  // namespace penstock
