// Addresses "s3://bucket/key": a bucket, and the key of an object or the name of a folder in it.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

struct BucketAddress {
  std::string bucket;
  std::string key;  ///< not decoded; without a trailing slash if it names a folder
};

/// Throws Error: invalid_argument, if the bucket or the key is invalid. Bucket names may contain a-z, 0-9, ".", "-" and
/// "_".
BucketAddress bucket_address(std::string_view scheme, const std::string& address);

/// Parses the address of an object. Also throws Error: invalid_argument, if there is no key.
BucketAddress object_address(std::string_view scheme, const std::string& address);

}  // namespace penstock
