// AWS Signature Version 4, as S3 and compatible stores verify it. penstock computes signatures itself, because libcurl
// 7.75 to 8.x does not sort queries and encodes keys differently from S3.
// Source: AWS General Reference, "Create a signed AWS API request"; Amazon S3 API Reference, "Signature Calculations
// for the Authorization Header". Tested with their vectors.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

/// Keys that sign requests.
struct AwsKeys {
  std::string id = {};
  std::string secret = {};
  std::string token = {};  ///< of temporary keys; empty: none

  friend bool operator==(const AwsKeys&, const AwsKeys&) = default;
};

/// Names in lower case, and values.
using SignedHeaders = std::vector<std::pair<std::string, std::string>>;

/// The signed parts of a request.
struct SigningRequest {
  std::string_view method;
  std::string_view host;     ///< with its port, as in the Host header
  std::string_view path;     ///< encoded, as sent
  std::string_view query;    ///< canonical_query(), as sent
  SignedHeaders headers;     ///< without host, x-amz-date and x-amz-security-token
  std::string payload_hash;  ///< SHA-256 in digits
};

/// SHA-256 of an empty body.
inline constexpr std::string_view kNoPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Signs for one region and service. Caches the key derived from the secret and the day. Not thread-safe; use one copy
/// per thread.
class AwsSigner {
 public:
  AwsSigner(AwsKeys keys, std::string region, std::string service);

  /// Returns the headers to add: x-amz-date, x-amz-security-token if there is a token, and authorization.
  SignedHeaders sign(const SigningRequest& request, std::chrono::system_clock::time_point when);

  const AwsKeys& keys() const { return keys_; }

 private:
  AwsKeys keys_;
  std::string region_;
  std::string service_;
  std::string day_;          // of signing_key_
  std::string signing_key_;  // derived from the secret and day_
};

/// Formats a time as "20130524T000000Z".
std::string amz_time(std::chrono::system_clock::time_point when);

}  // namespace penstock
