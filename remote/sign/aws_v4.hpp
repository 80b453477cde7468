// AWS Signature Version 4, as S3 and the stores that speak like it check it. penstock signs by itself: libcurl 7.75 to
// 8.x leaves queries unsorted and encodes keys otherwise than S3.
// Source: AWS General Reference, "Create a signed AWS API request"; Amazon S3 API Reference, "Signature Calculations
// for the Authorization Header". Tested with their vectors.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

/// What requests are signed with.
struct AwsKeys {
  std::string id = {};
  std::string secret = {};
  std::string token = {};  ///< of keys that expire; empty: none

  friend bool operator==(const AwsKeys&, const AwsKeys&) = default;
};

/// Names in lower case, and values.
using SignedHeaders = std::vector<std::pair<std::string, std::string>>;

/// What a signature is computed from.
struct SigningRequest {
  std::string_view method;
  std::string_view host;     ///< with its port, as the request's header has it
  std::string_view path;     ///< encoded, as sent
  std::string_view query;    ///< canonical_query(), as sent
  SignedHeaders headers;     ///< besides host, x-amz-date and x-amz-security-token
  std::string payload_hash;  ///< sha256's digits
};

/// SHA-256 of nothing.
inline constexpr std::string_view kNoPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Signs for one region and service. The key that is derived from the secret and the day is kept.
/// Copies may be used by several threads, one copy by one.
class AwsSigner {
 public:
  AwsSigner(AwsKeys keys, std::string region, std::string service);

  /// The headers to add: x-amz-date, x-amz-security-token where there is a token, authorization.
  SignedHeaders sign(const SigningRequest& request, std::chrono::system_clock::time_point when);

  const AwsKeys& keys() const { return keys_; }

 private:
  AwsKeys keys_;
  std::string region_;
  std::string service_;
  std::string day_;          // of key_
  std::string signing_key_;  // derived from the secret and day_
};

/// "20130524T000000Z"
std::string amz_time(std::chrono::system_clock::time_point when);

}  // namespace penstock
