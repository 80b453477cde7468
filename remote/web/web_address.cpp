#include <algorithm>
#include <cstdint>

#include <base/printable.hpp>
#include <formats/places/address.hpp>
#include <penstock/base/error.hpp>
#include <remote/sign/percent.hpp>
#include <remote/web/web_address.hpp>

namespace penstock {
namespace {

// RFC 4648, section 4.
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
    refuse_web_address(parts.clean, "a web address has no control characters");
  if (authority.empty() || authority.front() == ':') refuse_web_address(parts.clean, "a web address names a host");
  if (has_odd_port(authority))  // it may be the first part of a password
    refuse_web_address(std::string(address.substr(0, host)) + "...",
                       "the port of a web address is a number (a slash in a password is written %2F)");
  const auto fits_query = [](unsigned char c) { return c > ' ' && c < 0x7F; };
  if (!std::ranges::all_of(parts.query, fits_query))
    refuse_web_address(parts.clean, "the query of a web address has neither spaces nor letters of other alphabets");
  const auto fits_host = [](unsigned char c) { return is_of_urls(c) && c != '@'; };
  if (!std::ranges::all_of(authority, fits_host)) refuse_web_address(parts.clean, "a web address names a host");
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

}  // namespace penstock
