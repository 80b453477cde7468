#include <memory>
#include <optional>
#include <string>

#include <curl/curl.h>

#include <remote/http/redirect.hpp>

#include "fuzz/remote/answer.hpp"
#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

// Where libcurl would connect to.
struct Server {
  std::string scheme, host, port;
  bool has_user = false;
  friend bool operator==(const Server&, const Server&) = default;
};

std::optional<Server> server_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> parsed(::curl_url(), &::curl_url_cleanup);
  if (::curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS) !=
      CURLUE_OK)
    return std::nullopt;
  const auto part = [&](CURLUPart which, unsigned flags) -> std::string {
    char* text = nullptr;
    if (::curl_url_get(parsed.get(), which, &text, flags) != CURLUE_OK) return {};
    const std::unique_ptr<char, decltype(&::curl_free)> owned(text, &::curl_free);
    return text;
  };
  Server server{.scheme = part(CURLUPART_SCHEME, 0),
                .host = part(CURLUPART_HOST, 0),
                .port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  server.has_user = !part(CURLUPART_USER, 0).empty() || !part(CURLUPART_PASSWORD, 0).empty();
  for (std::string* const text : {&server.scheme, &server.host}) {
    for (char& c : *text) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return server;
}

}  // namespace

// The first byte chooses where the request came from; each line is where it is led to.
void redirect_target(Input input) {
  if (input.empty()) return;
  const auto kind = std::to_integer<unsigned>(input[0]);
  HttpRequest request{.url = kind % 2 == 0 ? "https://host.example/folder/key?query" : "http://host.example:8080/key",
                      .headers = {"Range: bytes=0-9"},
                      .own_headers = {"Authorization: secret"}};
  const Server first = *server_of(request.url);
  std::string_view text = text_of(input.subspan(1));
  bool only_there = true;  // all of them led to the first server
  for (unsigned times = 0; times < kMostRedirects; ++times) {
    const std::string_view location = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(location.size() + 1, text.size()));
    const HttpRequest before = request;
    if (const auto problem = redirect(request, location)) {
      require_short_line(*problem, 200, "a refused redirect that is told badly");
      require(request.url == before.url && request.own_headers == before.own_headers,
              "a refused redirect is half done");
      return;
    }
    require_one_request(request);
    const auto server = server_of(request.url);
    if (!server) return;  // libcurl refuses it
    require(server->scheme == "https" || server->scheme == "http", "a redirect to what is no web address");
    require(!before.url.starts_with("https:") || server->scheme == "https", "a redirect that leaves https");
    require(!server->has_user, "a redirect with a user's name");
    only_there = only_there && *server == first;
    require(only_there || request.own_headers.empty(), "a redirect that carries secrets away");
  }
}

}  // namespace penstock::fuzz
