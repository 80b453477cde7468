// Buckets of S3 and compatible stores, with requests signed by AWS Signature Version 4.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <remote/credentials/key_requests.hpp>
#include <remote/credentials/renewed.hpp>
#include <remote/s3/aws_endpoint.hpp>
#include <remote/s3/bucket_service.hpp>
#include <remote/sign/aws_v4.hpp>

namespace penstock {

/// Reads the environment and the profile when the first request is prepared.
class AwsService : public BucketService {
 public:
  explicit AwsService(const KeyRequest& ask);

  std::string_view scheme() const override { return "s3"; }
  BucketPlace place(const std::string& bucket) override;
  bool stale() const override { return keys_.stale(); }
  void renew() override;
  std::vector<std::string> allow(const std::string& bucket, const SigningRequest& request) override;
  std::uint64_t state() const override { return state_.load(std::memory_order_acquire); }
  void learn(const std::string& bucket, const HttpResponse& response, const StoreError& error) override;
  std::string remark(const StoreError& error) const override;
  std::vector<std::string> secrets() const override;
  std::string only_if_absent() const override { return "If-None-Match: *"; }

 private:
  const AwsEndpoint& endpoint();
  std::string region_of(const std::string& bucket);

  Renewed<AwsKeys> keys_;
  std::atomic<std::uint64_t> state_{0};  // counts renewals and learnt settings

  mutable std::mutex mutex_;  // guards the members below
  std::optional<AwsEndpoint> endpoint_;
  std::map<std::string, std::string> regions_;  // of buckets, from their answers
  std::chrono::seconds clock_ahead_{0};         // the store's clock minus the local clock
  std::map<std::string, AwsSigner> signers_;    // by region, with the keys of signers_keys_
  std::shared_ptr<const Found<AwsKeys>> signers_keys_;
};

}  // namespace penstock
