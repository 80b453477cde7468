// S3 and what speaks like it: reading, listing, writing, removing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <remote/s3/bucket_requests.hpp>

namespace penstock {

class BucketDialect : public BucketRequests {
 public:
  using BucketRequests::BucketRequests;

  std::vector<ListedObject> list(Transport& transport, const std::string& folder) override;
  std::unique_ptr<ObjectUpload> upload(Transport& transport, const std::string& address, bool if_absent) override;
  void remove(Transport& transport, const std::string& address) override;
};

}  // namespace penstock
