// Who has buckets: where each is asked, and how requests to it are allowed.
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
  std::string host;    ///< as the request's header has it
  std::string path;    ///< before the key: "/", "/bucket/"; encoded
};

/// Any thread may call any of it.
class BucketService {
 public:
  virtual ~BucketService() = default;

  virtual std::string_view scheme() const = 0;  ///< "s3"
  virtual BucketPlace place(const std::string& bucket) = 0;

  virtual bool stale() const = 0;
  virtual void renew() = 0;
  /// Headers that allow the request. What they hold may be sent again for half a minute while state() is the same.
  virtual std::vector<std::string> allow(const std::string& bucket, const SigningRequest& request) = 0;
  virtual std::uint64_t state() const = 0;

  /// Takes in what an answer says of region, clock or credentials.
  virtual void learn(const std::string& bucket, const HttpResponse& response, const StoreError& error) = 0;
  /// Behind the server's reason: what requests were signed with.
  virtual std::string remark(const StoreError& error) const = 0;

  /// As Dialect::secrets().
  virtual std::vector<std::string> secrets() const = 0;

  /// A header that makes a write fail where there is an object.
  virtual std::string only_if_absent() const = 0;
};

}  // namespace penstock
