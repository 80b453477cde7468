#include <algorithm>
#include <cstdint>

#include <base/printable.hpp>
#include <formats/places/address.hpp>
#include <penstock/error.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/repeats.hpp>
#include <remote/sign/percent.hpp>
#include <remote/web/web_dialect.hpp>

namespace penstock {
namespace {

// Implements RFC 4648, section 4.
std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = (group << 8U) | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= count ? kLetters[(group >> (18U - 6U * static_cast<unsigned>(i))) & 63U] : '=';
  }
  return text;
}

bool is_of_urls(unsigned char c) {
  constexpr std::string_view kOthers = "-._~:/[]@!$&'()*+,;=";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kOthers.find(static_cast<char>(c)) != std::string_view::npos;
}

bool is_control(unsigned char c) {
  return c < ' ' || c == 0x7F;
}

[[noreturn]] void refuse_web_address(const std::string& clean, const char* cause) {
  throw Error::invalid_argument(cause, {.dataset = one_line(clean)});
}

}  // namespace

WebAddress split_web_address(std::string_view address) {
  const std::size_t host = address.find("://") + 3;
  const std::size_t path = std::min(address.find_first_of("/?#", host), address.size());
  const std::size_t query = std::min(address.find_first_of("?#", path), address.size());
  const std::size_t fragment = std::min(address.find('#', query), address.size());
  std::string_view authority = address.substr(host, path - host);
  WebAddress parts;
  const std::size_t at = authority.rfind('@');
  const std::string_view user = at == std::string_view::npos ? std::string_view{} : authority.substr(0, at);
  if (at != std::string_view::npos) authority.remove_prefix(at + 1);
  parts.clean =
      std::string(address.substr(0, host)) + std::string(authority) + std::string(address.substr(path, query - path));
  parts.query = address.substr(query, fragment - query);
  if (parts.query == "?") parts.query.clear();
  if (std::ranges::any_of(address, is_control))
    refuse_web_address(parts.clean, "a web address must not contain control characters");
  if (authority.empty() || authority.front() == ':')
    refuse_web_address(parts.clean, "a web address must contain a valid host");
  if (has_odd_port(authority))  // the text may be the first part of a password
    refuse_web_address(std::string(address.substr(0, host)) + "...",
                       "the port of a web address must be a number (write %2F for a slash in a password)");
  const auto fits_query = [](unsigned char c) { return c > ' ' && c < 0x7F; };
  if (!std::ranges::all_of(parts.query, fits_query))
    refuse_web_address(parts.clean, "the query of a web address must contain only ASCII characters without spaces");
  const auto fits_host = [](unsigned char c) { return is_of_urls(c) && c != '@'; };
  if (!std::ranges::all_of(authority, fits_host))
    refuse_web_address(parts.clean, "a web address must contain a valid host");
  if (user.empty()) return parts;
  const std::string plain = percent_decoded(user);
  parts.user = base64(plain);
  parts.password = plain.substr(std::min(plain.find(':'), plain.size() - 1) + 1);
  return parts;
}

std::string escaped_url(std::string_view address) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string url;
  url.reserve(address.size());
  for (std::size_t at = 0; at < address.size(); ++at) {
    const auto c = static_cast<unsigned char>(address[at]);
    if (is_of_urls(c) || is_percent_escape(address, at)) {
      url += static_cast<char>(c);
    } else {
      url += '%';
      url += kDigits[c >> 4U];
      url += kDigits[c & 15U];
    }
  }
  return url;
}

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

// Looks up each kind of secret separately, at the longest matching prefix of the address.
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
  // A dataset from another process arrives without the secrets of its address.
  return text + (text.empty() ? "" : "; ") + "this process has opened no address with a query or a password";
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

// Credentials in the address cannot be renewed, so `anew` is final here.
Meaning WebDialect::meaning(const HttpResponse& response) const {
  const Meaning meaning = Dialect::meaning(response);
  return meaning == Meaning::anew ? Meaning::refused : meaning;
}

}  // namespace penstock
