// Buckets of Google Cloud Storage, by its XML interface.
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

/// GCS_KEY and GCS_SECRET (HMAC keys, as Google's S3 dialect has them) are signed with; without them a token is sent.
/// STORAGE_EMULATOR_HOST is asked in the place of storage.googleapis.com. The environment is read when the first
/// request is prepared.
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
  std::atomic<std::uint64_t> state_{0};  // counts what was renewed
  std::mutex mutex_;                     // guards what follows
  std::optional<AwsSigner> signer_;      // with HMAC keys
};

}  // namespace penstock
