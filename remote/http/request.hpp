// One request to a server, and its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

enum class HttpMethod : std::uint8_t { get, head, put, post, remove };

/// As it goes out. Its URL and its headers may hold secrets: neither may get into an error or onto a screen.
struct HttpRequest {
  HttpMethod method = HttpMethod::get;
  std::string url;                            ///< escaped as it is to be sent, with its query
  std::vector<std::string> headers = {};      ///< "Name: value": sent also where a redirect leads
  std::vector<std::string> own_headers = {};  ///< the same, of this host alone: Authorization, signatures, tokens
  std::span<const std::byte> body = {};       ///< of put and post; must live until there is an answer
  std::uint64_t expected = 0;                 ///< bytes of the answer's body, about; 0: not known
  bool direct = false;                        ///< past any proxy: services of the machine itself
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< names in lower case, values without outer spaces
  std::string body = {};  ///< of a range that came as it was asked for: empty, its bytes are in their places

  /// Empty where there is none; of several, the last one.
  std::string_view header(std::string_view lower_case_name) const;
};

}  // namespace penstock
