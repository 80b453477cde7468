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

/// A request as it is sent. Its URL and headers may contain secrets, so they must not appear in errors or on a screen.
struct HttpRequest {
  HttpMethod method = HttpMethod::get;
  std::string url;                            ///< encoded, with its query
  std::vector<std::string> headers = {};      ///< "Name: value"; also sent to the target of a redirect
  std::vector<std::string> own_headers = {};  ///< only for this host: Authorization, signatures, tokens
  std::span<const std::byte> body = {};       ///< of put and post; must live until the answer
  std::uint64_t expected = 0;                 ///< approximate size of the answer's body; 0: unknown
  bool direct = false;                        ///< bypasses proxies: for services of the machine itself
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< names in lower case, values without outer spaces
  std::string body = {};  ///< empty if a requested range was received: its bytes are at their destinations

  /// Returns an empty value if it is missing; the last one of several.
  std::string_view header(std::string_view lower_case_name) const;
};

}  // namespace penstock
