// "s3://bucket/key": a bucket, and the key of an object or the name of a folder in it.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

struct BucketAddress {
  std::string bucket;
  std::string key;  ///< as it is, nothing decoded; of a folder without a slash at its end
};

/// Throws Error: invalid_argument, for a bucket or a key that no store has: letters of buckets are a-z, 0-9, ".", "-"
/// and "_".
BucketAddress bucket_address(std::string_view scheme, const std::string& address);

/// The same, of an object. Throws Error also: invalid_argument, where there is no key.
BucketAddress object_address(std::string_view scheme, const std::string& address);

}  // namespace penstock
