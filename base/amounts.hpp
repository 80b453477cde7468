// Formats times, shares and amounts for display, and parses sizes.
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

/// Formats like printf; cut at 511 characters.
template <typename... Values>
std::string text_of(const char* format, Values... values) {
  std::array<char, 512> line;
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

std::string percent_text(double share);        ///< "31 %" for 0.31
std::string time_text(double seconds);         ///< "0.43 us", "490 us", "2.2 ms", "1.20 s"
std::string decimal_bytes_text(double bytes);  ///< "1.5 kB", "31.0 MB", "1.10 GB", in powers of 1,000

/// Parses "4096", "256MiB", "1G", "2.5GB". K, M, G and T, with iB or without a suffix, are powers of 1,024; KB, MB, GB
/// and TB are powers of 1,000. Throws Error: invalid_argument, with the name of the `option`.
std::uint64_t parse_size(const std::string& text, const std::string& option);

}  // namespace penstock
