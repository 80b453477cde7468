#include <algorithm>

#include <remote/http/header_values.hpp>
#include <remote/http/redirect.hpp>

namespace penstock {
namespace {

// Returns the origin in lower case, without the default port of the scheme.
std::string normal_origin(std::string_view url) {
  std::string origin = lower_case(origin_of(url));
  if (origin.starts_with("https://") && origin.ends_with(":443")) origin.resize(origin.size() - 4);
  if (origin.starts_with("http://") && origin.ends_with(":80")) origin.resize(origin.size() - 3);
  return origin;
}

// Implements RFC 3986, section 5.2, for the forms that servers send: absolute URLs, and references within the same
// server. Returns nothing for others.
std::optional<std::string> resolved(std::string_view base, std::string_view location) {
  const std::string lower = lower_case(location.substr(0, 8));
  if (lower.starts_with("http://") || lower.starts_with("https://")) return std::string(location);
  const std::string_view origin = origin_of(base);
  if (location.starts_with("//")) return std::string(base.substr(0, base.find("//"))) + std::string(location);
  if (location.starts_with('/')) return std::string(origin) + std::string(location);
  if (location.find(':') < location.find_first_of("/?")) return std::nullopt;  // another scheme
  const std::string_view path = base.substr(0, base.find_first_of("?#"));
  if (location.starts_with('?')) return std::string(path) + std::string(location);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash < origin.size())
    return std::string(origin) + '/' + std::string(location);
  return std::string(path.substr(0, slash + 1)) + std::string(location);
}

}  // namespace

std::string_view origin_of(std::string_view url) {
  const std::size_t begins = url.find("://");
  if (begins == std::string_view::npos) return {};
  return url.substr(0, url.find_first_of("/?#", begins + 3));
}

std::optional<std::string> redirect(HttpRequest& request, std::string_view location) {
  const auto is_plain = [](unsigned char c) { return c > ' ' && c != 0x7F; };
  if (location.empty()) return "is redirected to nowhere";
  if (!std::ranges::all_of(location, is_plain)) return "is redirected to an address with spaces or control characters";
  auto target = resolved(request.url, location);
  if (!target) return "is redirected to an address that is not a web address";
  const std::string from = normal_origin(request.url), to = normal_origin(*target);
  if (to.size() <= to.find("://") + 3) return "is redirected to nowhere";
  if (to.find('@') != std::string::npos) return "is redirected to an address with a user name";
  if (from.starts_with("https://") && !to.starts_with("https://"))
    return "is redirected from https to http, which is not followed";
  if (from != to) request.own_headers.clear();
  request.url = std::move(*target);
  return std::nullopt;
}

}  // namespace penstock
