// Objects of buckets written whole, or by S3's multipart upload.
#pragma once

#include <string>

#include <remote/http/transport.hpp>
#include <remote/s3/bucket_address.hpp>
#include <remote/s3/bucket_requests.hpp>
#include <remote/writes/part_store.hpp>

namespace penstock {

/// Every body goes out with its SHA-256, signed, so that a store takes nothing that was damaged on the way.
/// `if_absent`: looked for before, and, for stores that know it, by a condition on the last request.
class BucketParts : public PartStore {
 public:
  /// `dialect` and `transport` outlive it.
  BucketParts(BucketRequests& dialect, Transport& transport, const std::string& address, bool if_absent);

  ObjectInfo put_whole(std::span<const std::byte> bytes) override;
  void begin() override;
  std::string put_part(unsigned number, std::span<const std::byte> bytes) override;
  ObjectInfo complete(const std::vector<std::string>& names, std::uint64_t size) override;
  void abandon() noexcept override;

 private:
  HttpResponse send(HttpMethod method, const Query& query, std::span<const std::byte> body, bool conditional = false);
  std::optional<ObjectInfo> find();
  void require_absent();
  Error exists() const;

  BucketRequests& dialect_;
  Transport& transport_;
  const std::string address_;
  const BucketAddress parts_;
  const bool if_absent_;
  std::string upload_;  // the store's name for it
};

}  // namespace penstock
