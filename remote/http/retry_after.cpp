#include <algorithm>
#include <cstdint>

#include <remote/http/header_values.hpp>
#include <remote/http/retry_after.hpp>

namespace penstock {

std::chrono::milliseconds retry_after(const HttpResponse& response) {
  constexpr std::int64_t kLongestSeconds = 60;
  const std::string_view value = response.header("retry-after");
  std::int64_t seconds = 0;
  if (const auto digits = parse_digits(value)) {
    seconds = static_cast<std::int64_t>(std::min<std::uint64_t>(*digits, kLongestSeconds));
  } else if (const auto date = parse_http_date(value)) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto server = parse_http_date(response.header("date"));
    seconds = *date - server.value_or(std::chrono::duration_cast<std::chrono::seconds>(now).count());
  }
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kLongestSeconds));
}

}  // namespace penstock
