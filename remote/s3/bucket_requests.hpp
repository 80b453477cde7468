// S3's requests and answers, which Google's XML interface and many other stores share.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <remote/http/dialect.hpp>
#include <remote/s3/bucket_service.hpp>
#include <remote/sign/percent.hpp>

namespace penstock {

class BucketRequests : public Dialect {
 public:
  explicit BucketRequests(std::unique_ptr<BucketService> service);

  bool speaks(std::string_view address) const override;
  std::string admit(const std::string& address) override;
  bool stale(const std::string& address) override;
  void renew(const std::string& address) override;

  HttpRequest find(const std::string& address) override;
  HttpRequest read_whole(const std::string& address) override;
  HttpRequest read_range(const StoredObject& object, std::uint64_t offset, std::uint64_t length) override;

  Meaning meaning(const HttpResponse& response) const override;
  void learn(const std::string& address, const HttpResponse& response) override;
  std::string reason(const HttpResponse& response) const override;
  std::vector<std::string> secrets() const override { return service_->secrets(); }
  std::string access(const std::string& address) override;

  /// Makes a request with authorization headers. `payload_hash` is the hash of `body`, in digits.
  HttpRequest request(HttpMethod method, const std::string& bucket, const std::string& key, const Query& query = {},
                      std::span<const std::byte> body = {}, const std::string& payload_hash = {});
  const BucketService& service() const { return *service_; }

 private:
  // A prepared GET of an object, without its range.
  struct Prepared {
    HttpRequest request;
    std::chrono::steady_clock::time_point until;
    std::uint64_t state;
  };

  std::unique_ptr<BucketService> service_;
  std::mutex mutex_;  // guards the members below
  std::unordered_map<std::string, Prepared> prepared_;
  std::set<std::string> asked_for_reasons_;  // addresses whose HEAD was rejected; such answers contain no reason
};

}  // namespace penstock
