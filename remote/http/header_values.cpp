#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include <remote/http/header_values.hpp>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<unsigned> two_digits(std::string_view text) {
  const auto number = text.size() == 2 ? parse_digits(text) : std::nullopt;
  return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_digits(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stopped == end && number >> 63U == 0 ? std::optional(number) : std::nullopt;
}

std::optional<ContentRange> parse_content_range(std::string_view value) {
  constexpr std::string_view kUnit = "bytes ";
  if (!value.starts_with(kUnit)) return std::nullopt;
  value = trimmed(value.substr(kUnit.size()));
  const std::size_t slash = value.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view range = value.substr(0, slash), whole = value.substr(slash + 1);
  ContentRange found;
  if (whole != "*") {
    found.size = parse_digits(whole);
    if (!found.size) return std::nullopt;
  }
  if (range == "*") return found.size ? std::optional(found) : std::nullopt;
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  found.first = parse_digits(range.substr(0, dash));
  found.last = parse_digits(range.substr(dash + 1));
  if (!found.first || !found.last || *found.last < *found.first) return std::nullopt;
  if (found.size && *found.last >= *found.size) return std::nullopt;
  return found;
}

std::optional<std::int64_t> parse_http_date(std::string_view value) {
  constexpr std::size_t kLength = std::string_view("Sun, 06 Nov 1994 08:49:37 GMT").size();
  if (value.size() != kLength || value.substr(3, 2) != ", " || !value.ends_with(" GMT") || value[7] != ' ' ||
      value[11] != ' ' || value[16] != ' ' || value[19] != ':' || value[22] != ':')
    return std::nullopt;
  const auto day = two_digits(value.substr(5, 2));
  const auto* const month = std::ranges::find(kMonths, value.substr(8, 3));
  const auto year = parse_digits(value.substr(12, 4));
  const auto hour = two_digits(value.substr(17, 2)), minute = two_digits(value.substr(20, 2)),
             second = two_digits(value.substr(23, 2));
  if (!day || month == kMonths.end() || !year || !hour || !minute || !second) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
                                         std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  const auto at = std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
                  std::chrono::seconds(*second);
  const std::int64_t since_1970 = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  return since_1970 >= 0 && *year < 2262 ? std::optional(since_1970) : std::nullopt;
}

bool fits_header(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

bool is_strong_etag(std::string_view etag) {
  return etag.size() >= 2 && etag.front() == '"' && etag.back() == '"' && fits_header(etag);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kOuter = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kOuter);
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(kOuter) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view name_of_header(std::string_view header) {
  return header.substr(0, header.find(':'));
}

}  // namespace penstock
