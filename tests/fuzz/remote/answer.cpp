#include "fuzz/remote/answer.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <base/printable.hpp>
#include <remote/http/header_values.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

HttpResponse answer_of(Input input) {
  constexpr std::array kStatuses{200, 206, 301, 400, 401, 403, 404, 409, 412, 416, 429, 503};
  HttpResponse answer;
  if (input.empty()) return answer;
  answer.status = kStatuses[std::to_integer<std::size_t>(input[0]) % kStatuses.size()];
  std::string_view text = text_of(input.subspan(1));
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty() || line == "\r") break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    // A header's value has no zero byte: libcurl ends the request at one.
    const std::string_view value = line.substr(colon + 1);
    if (value.find('\0') == std::string_view::npos)
      answer.headers.emplace_back(lower_case(line.substr(0, colon)), trimmed(value));
  }
  answer.body = text;
  return answer;
}

void require_one_request(const HttpRequest& request) {
  const auto is_plain = [](unsigned char c) { return c >= ' ' && c != 0x7F; };
  require(std::ranges::all_of(request.url, [](unsigned char c) { return c > ' ' && c != 0x7F; }),
          "an address with spaces or control characters is asked for");
  for (const auto* const headers : {&request.headers, &request.own_headers}) {
    for (const std::string& header : *headers)
      require(std::ranges::all_of(header, is_plain), "a header with a control character is sent");
  }
}

void require_short_line(std::string_view text, std::size_t longest, const char* what) {
  require(text.size() <= longest && is_printable(text), what);
}

}  // namespace penstock::fuzz
