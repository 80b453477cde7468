#include <memory>
#include <string>
#include <vector>

#include <remote/s3/bucket_address.hpp>
#include <remote/s3/bucket_dialect.hpp>
#include <remote/s3/bucket_listing.hpp>
#include <remote/s3/bucket_parts.hpp>
#include <remote/writes/part_upload.hpp>

namespace penstock {

std::vector<ListedObject> BucketDialect::list(Transport& transport, const std::string& folder) {
  const BucketAddress parts = bucket_address(service().scheme(), folder);
  return list_bucket(*this, transport, folder, parts);
}

std::unique_ptr<ObjectUpload> BucketDialect::upload(Transport& transport, const std::string& address, bool if_absent) {
  return std::make_unique<PartUpload>(std::make_unique<BucketParts>(*this, transport, address, if_absent));
}

void BucketDialect::remove(Transport& transport, const std::string& address) {
  const BucketAddress parts = object_address(service().scheme(), address);
  const HttpResponse answer = transport.send({.dialect = *this, .address = address, .prepare = [&] {
                                                return request(HttpMethod::remove, parts.bucket, parts.key);
                                              }});
  const Meaning what = meaning(answer);
  if (what != Meaning::done && what != Meaning::absent) throw refusal(*this, address, answer);
}

}  // namespace penstock
