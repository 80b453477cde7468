#include <algorithm>

#include <base/printable.hpp>
#include <remote/sign/percent.hpp>

namespace penstock {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

std::string encoded_but_for(std::string_view text, bool slashes_stay) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    if (is_unreserved(c) || (slashes_stay && c == '/')) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

}  // namespace

bool is_percent_escape(std::string_view text, std::size_t at) {
  return text[at] == '%' && at + 2 < text.size() && digit_of(text[at + 1]) >= 0 && digit_of(text[at + 2]) >= 0;
}

std::string percent_decoded(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_percent_escape(text, at)) {
      plain += static_cast<char>(digit_of(text[at + 1]) * 16 + digit_of(text[at + 2]));
      at += 2;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

std::string percent_encoded(std::string_view text) {
  return encoded_but_for(text, false);
}

std::string percent_encoded_path(std::string_view key) {
  return encoded_but_for(key, true);
}

std::string canonical_query(const Query& query) {
  Query encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) encoded.emplace_back(percent_encoded(name), percent_encoded(value));
  std::ranges::sort(encoded);
  return joined_text(encoded, "&", [](const auto& pair) { return pair.first + "=" + pair.second; });
}

}  // namespace penstock
