// Plain web servers.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <remote/http/dialect.hpp>

namespace penstock {

/// The parts of a URL (RFC 3986) as users write it.
struct WebAddress {
  std::string clean = {};     ///< without user, query and fragment
  std::string user = {};      ///< "user:password" in Base64; empty: none
  std::string password = {};  ///< plain text, taken from `user`
  std::string query = {};     ///< with its '?'; empty: none
};

/// Throws Error: invalid_argument, if there is no host or if it contains control characters. The message contains the
/// clean address.
WebAddress split_web_address(std::string_view address);

/// Escapes characters that a URL cannot contain, for example as "%20". Existing escapes stay.
std::string escaped_url(std::string_view address);

/// Addresses are URLs. Characters that a URL cannot contain (spaces, non-ASCII bytes) are escaped; existing escapes
/// stay. User and password become an Authorization header (Basic, RFC 7617). A query is sent with each request to its
/// address and to addresses below it.
class WebDialect final : public Dialect {
 public:
  bool speaks(std::string_view address) const override;
  std::string admit(const std::string& address) override;
  HttpRequest find(const std::string& address) override;
  HttpRequest read_whole(const std::string& address) override;
  HttpRequest read_range(const StoredObject& object, std::uint64_t offset, std::uint64_t length) override;
  Meaning meaning(const HttpResponse& response) const override;
  std::string reason(const HttpResponse& response) const override;
  std::vector<std::string> secrets() const override;
  std::string access(const std::string& address) override;

 private:
  struct Secrets {
    std::string authorization = {};  // value of the header
    std::string password = {};       // the password in it
    std::string query = {};          // with its '?'
  };
  HttpRequest request(HttpMethod method, const std::string& address);
  Secrets secrets_of(std::string_view address);

  mutable std::mutex mutex_;                             // guards secrets_
  std::map<std::string, Secrets, std::less<>> secrets_;  // by clean address, without trailing slashes
};

}  // namespace penstock
