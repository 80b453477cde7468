// Web servers.
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
  std::string password = {};  ///< of it, as it is
  std::string query = {};     ///< with its '?'; empty: none
};

/// Throws Error: invalid_argument, of one without a host or with control characters, naming the clean address.
WebAddress split_web_address(std::string_view address);

/// With "%20" in place of what a URL cannot have. What is escaped already stays as it is.
std::string escaped_url(std::string_view address);

/// Addresses are URLs: what a URL cannot have (spaces, bytes of other alphabets) is escaped, what is escaped stays so.
/// User and password become an Authorization header (Basic, RFC 7617), a query goes along with each request of the
/// address it came with and of those below that one.
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
    std::string authorization = {};  // of the header
    std::string password = {};       // that it holds
    std::string query = {};          // with its '?'
  };
  HttpRequest request(HttpMethod method, const std::string& address);
  Secrets secrets_of(std::string_view address);

  mutable std::mutex mutex_;                             // guards secrets_
  std::map<std::string, Secrets, std::less<>> secrets_;  // by clean address, without slashes behind it
};

}  // namespace penstock
