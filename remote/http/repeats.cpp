#include <algorithm>
#include <cstddef>

#include <remote/http/repeats.hpp>
#include <remote/sign/percent.hpp>

namespace penstock {
namespace {

constexpr std::size_t kShortestSecret = 6;

std::string without_entities(std::string_view text) {
  constexpr std::string_view kAmpersand = "&amp;";
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    plain += text[at];
    if (text.substr(at).starts_with(kAmpersand)) at += kAmpersand.size() - 1;
  }
  return plain;
}

}  // namespace

bool repeats(std::string_view text, std::span<const std::string> secrets) {
  if (secrets.empty()) return false;
  const std::string plain = without_entities(text), decoded = percent_decoded(plain);
  return std::ranges::any_of(secrets, [&](const std::string& secret) {
    return secret.size() >= kShortestSecret &&
           (plain.find(secret) != std::string::npos || decoded.find(secret) != std::string::npos);
  });
}

std::vector<std::string> secrets_of_query(std::string_view query) {
  std::vector<std::string> secrets;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? pair : pair.substr(equals + 1);
    if (value.size() < kShortestSecret) continue;
    secrets.emplace_back(value);
    if (std::string decoded = percent_decoded(value); decoded != value) secrets.push_back(std::move(decoded));
  }
  return secrets;
}

}  // namespace penstock
