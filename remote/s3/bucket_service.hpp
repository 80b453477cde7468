// Interface of a provider of buckets: their location, and the authorization of requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <remote/http/request.hpp>
#include <remote/s3/store_error.hpp>
#include <remote/sign/aws_v4.hpp>

namespace penstock {

struct BucketPlace {
  std::string origin;  ///< "https://bucket.s3.eu-west-1.amazonaws.com:9000"
  std::string host;    ///< value of the Host header
  std::string path;    ///< before the key: "/", "/bucket/"; encoded
};

/// Thread-safe.
class BucketService {
 public:
  virtual ~BucketService() = default;

  virtual std::string_view scheme() const = 0;  ///< "s3"
  virtual BucketPlace place(const std::string& bucket) = 0;

  virtual bool stale() const = 0;
  virtual void renew() = 0;
  /// Returns headers that authorize the request. They may be sent again for half a minute while state() is unchanged.
  virtual std::vector<std::string> allow(const std::string& bucket, const SigningRequest& request) = 0;
  virtual std::uint64_t state() const = 0;

  /// Processes an answer's hints on region, clock or credentials.
  virtual void learn(const std::string& bucket, const HttpResponse& response, const StoreError& error) = 0;
  /// Text to append to the server's reason: the credentials that signed the request.
  virtual std::string remark(const StoreError& error) const = 0;

  /// Same as Dialect::secrets().
  virtual std::vector<std::string> secrets() const = 0;

  /// Returns a header that makes a write fail if the object exists.
  virtual std::string only_if_absent() const = 0;
};

}  // namespace penstock
