// Writes times, shares and amounts for people, and reads sizes that they write.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace penstock {

inline double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// As printf has it; cut at 511 characters.
template <typename... Values>
std::string text_of(const char* format, Values... values) {
  std::array<char, 512> line;
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

std::string percent_text(double share);        ///< "31 %" of 0.31
std::string time_text(double seconds);         ///< "0.43 us", "490 us", "2.2 ms", "1.20 s"
std::string decimal_bytes_text(double bytes);  ///< "1.5 kB", "31.0 MB", "1.10 GB", of 10^3, 10^6 and 10^9

/// "4096", "256MiB", "1G", "2.5GB": K, M, G and T, with iB or alone, count in 1,024s; KB, MB, GB and TB in 1,000s.
/// Throws Error: invalid_argument.
std::uint64_t parse_size(const std::string& text);

}  // namespace penstock
