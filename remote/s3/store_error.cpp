#include <algorithm>
#include <array>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <remote/s3/store_error.hpp>
#include <remote/text/xml.hpp>

namespace penstock {
namespace {

constexpr std::size_t kLongestBody = 64 << 10;
constexpr std::size_t kLongestCode = 60;
constexpr std::size_t kLongestMessage = 300;

std::string short_line(std::string_view text, std::size_t longest) {
  std::string line = one_line(text.substr(0, text.find('\n')).substr(0, longest));
  return text.size() > longest ? line + "..." : line;
}

}  // namespace

StoreError store_error(std::string_view body) {
  if (body.empty() || body.size() > kLongestBody) return {};
  try {
    const XmlElement root = parse_xml(body);
    if (root.name != "Error") return {};
    StoreError error{short_line(root.text_of("Code"), kLongestCode),
                     short_line(root.text_of("Message"), kLongestMessage),
                     short_line(root.text_of("Region"), kLongestCode)};
    // Messages of this error repeat the signed text.
    if (error.code == "SignatureDoesNotMatch")
      error.message = "the secret key does not belong to the access key, or a proxy changed the request";
    return error;
  } catch (const Error&) {
    return {};
  }
}

bool tells_of_expired_keys(const StoreError& error) {
  constexpr std::array<std::string_view, 6> kCodes{"ExpiredToken",   "ExpiredTokenException", "InvalidToken",
                                                   "RequestExpired", "TokenRefreshRequired",  "InvalidAccessKeyId"};
  return std::ranges::find(kCodes, error.code) != kCodes.end();
}

}  // namespace penstock
