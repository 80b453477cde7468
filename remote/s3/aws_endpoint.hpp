// Where buckets of S3, and of stores that speak like it, are asked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <remote/s3/bucket_service.hpp>

namespace penstock {

enum class AddressingStyle : std::uint8_t { automatic, path, virtual_host };

/// What the environment and the profile say.
struct AwsEndpoint {
  std::string url = {};     ///< AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or the profile's endpoint_url; empty: Amazon's
  std::string region = {};  ///< AWS_REGION, AWS_DEFAULT_REGION, or the profile's; empty: not told
  AddressingStyle style = AddressingStyle::automatic;  ///< the profile's s3.addressing_style

  /// Throws Error: io, where the profile's files cannot be read; invalid_argument, for an endpoint that is no URL.
  static AwsEndpoint of_user();
};

/// With a host for each bucket where that works: at Amazon's, for names without a dot, which certificates cover. Else
/// the bucket is the first part of the path.
BucketPlace aws_place(const AwsEndpoint& endpoint, const std::string& region, const std::string& bucket);

/// Whether it can be the name of a region: it becomes part of a host's name, and comes from answers too.
bool is_region(std::string_view name);

/// "https://host:port" and a path without a slash at its end; `name` is what holds the URL, for errors. Throws Error:
/// invalid_argument, for anything else, secrets before the host among it.
struct EndpointUrl {
  std::string origin;
  std::string host;
  std::string path;
};
EndpointUrl endpoint_url(const std::string& url, const std::string& name);

}  // namespace penstock
