#include <algorithm>
#include <optional>

#include <penstock/base/error.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/repeats.hpp>
#include <remote/web/web_address.hpp>
#include <remote/web/web_dialect.hpp>

namespace penstock {

bool WebDialect::speaks(std::string_view address) const {
  return address.starts_with("http://") || address.starts_with("https://");
}

std::string WebDialect::admit(const std::string& address) {
  WebAddress parts = split_web_address(address);
  if (parts.user.empty() && parts.query.empty()) return parts.clean;
  std::string key = parts.clean;
  while (key.ends_with('/')) key.pop_back();
  const std::scoped_lock lock(mutex_);
  Secrets& secrets = secrets_[key];
  if (!parts.user.empty()) {
    secrets.authorization = "Authorization: Basic " + parts.user;
    secrets.password = std::move(parts.password);
  }
  if (!parts.query.empty()) secrets.query = std::move(parts.query);
  return parts.clean;
}

// Of the longest address above, each kind by itself.
WebDialect::Secrets WebDialect::secrets_of(std::string_view address) {
  Secrets found;
  const std::scoped_lock lock(mutex_);
  if (secrets_.empty()) return found;
  while (true) {
    while (address.ends_with('/')) address.remove_suffix(1);
    if (const auto at = secrets_.find(address); at != secrets_.end()) {
      if (found.authorization.empty()) found.authorization = at->second.authorization;
      if (found.query.empty()) found.query = at->second.query;
    }
    const std::size_t slash = address.rfind('/');
    if (slash == std::string_view::npos || slash < address.find("://") + 3) return found;
    address = address.substr(0, slash);
  }
}

HttpRequest WebDialect::request(HttpMethod method, const std::string& address) {
  const std::string clean = address.find_first_of("@?#") != std::string::npos ? admit(address) : address;
  const Secrets secrets = secrets_of(clean);
  HttpRequest request{.method = method, .url = escaped_url(clean) + secrets.query};
  request.headers = {"Accept-Encoding: identity"};
  if (!secrets.authorization.empty()) request.own_headers = {secrets.authorization};
  return request;
}

HttpRequest WebDialect::find(const std::string& address) {
  return request(HttpMethod::head, address);
}

HttpRequest WebDialect::read_whole(const std::string& address) {
  return request(HttpMethod::get, address);
}

HttpRequest WebDialect::read_range(const StoredObject& object, std::uint64_t offset, std::uint64_t length) {
  HttpRequest asked = request(HttpMethod::get, object.address);
  asked.headers.push_back("Range: bytes=" + std::to_string(offset) + '-' + std::to_string(offset + length - 1));
  if (is_strong_etag(object.state().version)) asked.headers.push_back("If-Match: " + object.state().version);
  return asked;
}

std::string WebDialect::reason(const HttpResponse& response) const {
  std::string text = Dialect::reason(response);
  if (response.status != 401 && response.status != 403) return text;
  const std::scoped_lock lock(mutex_);
  if (!secrets_.empty()) return text;
  // A dataset that came from another process came without the secrets of its address.
  return text + (text.empty() ? "" : "; ") + "this process was given no address with a query or a password";
}

std::vector<std::string> WebDialect::secrets() const {
  constexpr std::string_view kScheme = "Authorization: Basic ";
  std::vector<std::string> all;
  const std::scoped_lock lock(mutex_);
  for (const auto& [address, kept] : secrets_) {
    if (!kept.authorization.empty()) all.push_back(kept.authorization.substr(kScheme.size()));
    all.push_back(kept.password);
    if (kept.query.empty()) continue;
    for (std::string& value : secrets_of_query(std::string_view(kept.query).substr(1))) all.push_back(std::move(value));
  }
  return all;
}

std::string WebDialect::access(const std::string& address) {
  const Secrets found = secrets_of(address);
  if (found.authorization.empty()) return found.query.empty() ? "" : "sent with the address's query";
  return found.query.empty() ? "sent with user and password" : "sent with user, password and the address's query";
}

// Nothing here becomes right by asking again, as a token would.
Meaning WebDialect::meaning(const HttpResponse& response) const {
  const Meaning meaning = Dialect::meaning(response);
  return meaning == Meaning::anew ? Meaning::refused : meaning;
}

}  // namespace penstock
