// S3 and compatible stores: reads, lists, writes and removes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <formats/places/object_store.hpp>
#include <remote/http/transport.hpp>
#include <remote/s3/bucket_address.hpp>
#include <remote/s3/bucket_requests.hpp>
#include <remote/text/listing.hpp>

namespace penstock {

/// Parses one page of an answer to ListObjectsV2 (Amazon S3 API Reference). `prefix` is the requested prefix, with its
/// slash. Throws Error: corrupt.
ListedPage parse_listed_page(const std::string& body, const std::string& prefix);

/// Returns all pages, sorted by name. Throws Error: io, corrupt, naming `folder`.
std::vector<ListedObject> list_bucket(BucketRequests& dialect, Transport& transport, const std::string& folder,
                                      const BucketAddress& parts);

class BucketDialect : public BucketRequests {
 public:
  using BucketRequests::BucketRequests;

  std::vector<ListedObject> list(Transport& transport, const std::string& folder) override;
  std::unique_ptr<ObjectUpload> upload(Transport& transport, const std::string& address, bool if_absent) override;
  void remove(Transport& transport, const std::string& address) override;
};

}  // namespace penstock
