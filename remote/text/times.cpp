#include <charconv>
#include <ctime>
#include <string>

#include <remote/text/times.hpp>

namespace penstock {
namespace {

using SystemTime = std::chrono::system_clock::time_point;

std::optional<SystemTime> from_utc(std::tm fields, std::int64_t seconds_east, std::chrono::nanoseconds rest) {
  const std::time_t seconds = ::timegm(&fields);
  // Limits times to the range of a system_clock in nanoseconds, with room for calculations.
  if (seconds < 0 || seconds > 9'000'000'000) return std::nullopt;
  return SystemTime(
      std::chrono::duration_cast<SystemTime::duration>(std::chrono::seconds(seconds - seconds_east) + rest));
}

std::optional<std::tm> fields_by(const char* format, const std::string& text, const char*& rest) {
  std::tm fields{};
  rest = ::strptime(text.c_str(), format, &fields);
  if (rest == nullptr) return std::nullopt;
  return fields;
}

}  // namespace

std::optional<SystemTime> iso_time(std::string_view text) {
  if (text.size() > 64) return std::nullopt;
  const std::string copy(text);
  const char* at = nullptr;
  const auto fields = fields_by("%Y-%m-%dT%H:%M:%S", copy, at);
  if (!fields) return std::nullopt;
  std::chrono::nanoseconds fraction{0};
  if (*at == '.') {
    std::int64_t unit = 100'000'000;
    for (++at; *at >= '0' && *at <= '9'; ++at, unit /= 10) fraction += std::chrono::nanoseconds((*at - '0') * unit);
  }
  std::int64_t east = 0;
  if (*at == '+' || *at == '-') {
    int hours = 0;
    int minutes = 0;
    const std::string_view zone(at + 1);
    if (zone.size() != 5 || zone[2] != ':') return std::nullopt;
    if (std::from_chars(zone.data(), zone.data() + 2, hours).ec != std::errc{} ||
        std::from_chars(zone.data() + 3, zone.data() + 5, minutes).ec != std::errc{})
      return std::nullopt;
    east = (hours * 60 + minutes) * 60 * (*at == '+' ? 1 : -1);
  } else if (*at != '\0' && std::string_view(at) != "Z") {
    return std::nullopt;
  }
  return from_utc(*fields, east, fraction);
}

std::int64_t nanoseconds_of(std::optional<SystemTime> time) {
  return time ? std::chrono::duration_cast<std::chrono::nanoseconds>(time->time_since_epoch()).count() : 0;
}

}  // namespace penstock
