#include <algorithm>
#include <string>

#include <penstock/remote/sign/percent.hpp>

namespace penstock {
namespace {

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
  std::string text;
  for (const auto& [name, value] : encoded) text += (text.empty() ? "" : "&") + name + "=" + value;
  return text;
}

}  // namespace penstock
