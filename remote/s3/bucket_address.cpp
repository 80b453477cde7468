#include <algorithm>

#include <formats/places/address.hpp>
#include <penstock/error.hpp>
#include <remote/s3/bucket_address.hpp>

namespace penstock {
namespace {

constexpr std::size_t kLongestBucket = 255;
constexpr std::size_t kLongestKey = 1024;

bool is_of_bucket(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

}  // namespace

BucketAddress bucket_address(std::string_view scheme, const std::string& address) {
  const std::string_view rest = std::string_view(address).substr(std::min(address.size(), scheme.size() + 3));
  const std::size_t slash = rest.find('/');
  BucketAddress parts{std::string(rest.substr(0, slash)), {}};
  if (slash != std::string_view::npos) parts.key = rest.substr(slash + 1);
  while (parts.key.ends_with('/')) parts.key.pop_back();
  if (parts.bucket.empty() || parts.bucket.size() > kLongestBucket ||
      !std::ranges::all_of(parts.bucket, is_of_bucket) || parts.bucket.front() == '.')
    throw Error::invalid_argument("names no bucket; expected " + std::string(scheme) + "://BUCKET/KEY",
                                  {.dataset = shown_place(address)});
  if (parts.key.size() > kLongestKey)
    throw Error::invalid_argument("the key has more than 1,024 bytes", {.dataset = shown_place(address)});
  return parts;
}

BucketAddress object_address(std::string_view scheme, const std::string& address) {
  BucketAddress parts = bucket_address(scheme, address);
  if (parts.key.empty())
    throw Error::invalid_argument("names a bucket, but no object in it", {.dataset = shown_place(address)});
  return parts;
}

}  // namespace penstock
