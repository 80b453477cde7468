// Formats and parses numbers as people write them: "1,204", "256.0 MiB", "00:41", "256MiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <base/printable.hpp>

namespace penstock {

std::string hex(std::uint64_t number);         ///< 16 digits
std::string fixed(double number, int digits);  ///< after the point
std::string bytes_text(std::uint64_t bytes);   ///< "512 B", "2.4 KiB", "256.0 MiB"
std::string seconds_text(double seconds);      ///< "41 s", "3:20", "2:03:20"
/// "4096", "256MiB", "1G", "2.5GB": K, M, G and T, with iB or alone, count in 1,024s; KB, MB, GB and TB in 1,000s.
/// Throws Error: invalid_argument.
std::uint64_t parse_size(const std::string& text);

struct CountRange {
  std::uint64_t fewest, most;
  friend bool operator==(const CountRange&, const CountRange&) = default;
};
/// "4096", "200000-600000", "200k-1.5M": one number or two that rise; k counts in thousands, M in millions.
/// Throws Error: invalid_argument.
CountRange parse_count_range(const std::string& text);

}  // namespace penstock
