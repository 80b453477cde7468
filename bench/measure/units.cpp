#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include <bench/measure/units.hpp>
#include <penstock/error.hpp>

namespace penstock {

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

std::string fixed(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, units.at(unit));
  return text.data();
}

std::string seconds_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, std::round(seconds)));
  if (whole < 120) return std::to_string(whole) + " s";
  std::array<char, 48> text{};
  const auto hours = static_cast<unsigned long long>(whole / 3600);
  const auto minutes = static_cast<unsigned>(whole / 60 % 60), rest = static_cast<unsigned>(whole % 60);
  if (hours > 0)
    std::snprintf(text.data(), text.size(), "%llu:%02u:%02u", hours, minutes, rest);
  else
    std::snprintf(text.data(), text.size(), "%u:%02u", minutes, rest);
  return text.data();
}

CountRange parse_count_range(const std::string& text) {
  const auto count_of = [&](std::string_view part) {
    double number = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), number);
    const std::string_view unit(end, part.data() + part.size());
    if (unit == "k") number *= 1e3;
    if (unit == "M") number *= 1e6;
    const bool known = unit.empty() || unit == "k" || unit == "M";
    if (failure != std::errc{} || !known || !(number >= 0) || number > 1e15 || number != std::floor(number)) {
      throw Error::invalid_argument("'" + text + "' is not a range; expected 4096, 200000-600000 or 200k-1.5M");
    }
    return static_cast<std::uint64_t>(number);
  };
  const std::size_t dash = text.find('-');
  const std::string_view all = text;
  const std::uint64_t fewest = count_of(all.substr(0, dash));
  const std::uint64_t most = dash == std::string::npos ? fewest : count_of(all.substr(dash + 1));
  if (fewest > most) throw Error::invalid_argument("invalid range '" + text + "': the minimum exceeds the maximum");
  return {fewest, most};
}

}  // namespace penstock
