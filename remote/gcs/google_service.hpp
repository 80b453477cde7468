// Buckets of Google Cloud Storage, through its XML interface.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <remote/credentials/key_requests.hpp>
#include <remote/credentials/renewed.hpp>
#include <remote/s3/bucket_service.hpp>
#include <remote/sign/aws_v4.hpp>

namespace penstock {

/// Signs with GCS_KEY and GCS_SECRET (HMAC keys of Google's S3 interface) if they are set; otherwise sends a token.
/// STORAGE_EMULATOR_HOST replaces storage.googleapis.com. The environment is read when the first request is prepared.
class GoogleService : public BucketService {
 public:
  explicit GoogleService(const KeyRequest& ask);

  std::string_view scheme() const override { return "gs"; }
  BucketPlace place(const std::string& bucket) override;
  bool stale() const override { return token_.stale(); }
  void renew() override;
  std::vector<std::string> allow(const std::string& bucket, const SigningRequest& request) override;
  std::uint64_t state() const override { return state_.load(std::memory_order_acquire); }
  void learn(const std::string& bucket, const HttpResponse& response, const StoreError& error) override;
  std::string remark(const StoreError& error) const override;
  std::vector<std::string> secrets() const override;
  std::string only_if_absent() const override { return "x-goog-if-generation-match: 0"; }

 private:
  Renewed<std::string> token_;
  std::atomic<std::uint64_t> state_{0};  // counts renewals
  std::mutex mutex_;                     // guards the members below
  std::optional<AwsSigner> signer_;      // with HMAC keys
};

}  // namespace penstock
