// Endpoints of S3 and compatible stores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <remote/s3/bucket_service.hpp>

namespace penstock {

enum class AddressingStyle : std::uint8_t { automatic, path, virtual_host };

/// Settings from the environment and the profile.
struct AwsEndpoint {
  std::string url = {};     ///< AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or the profile's endpoint_url; empty: Amazon
  std::string region = {};  ///< AWS_REGION, AWS_DEFAULT_REGION, or the profile's; empty: unknown
  AddressingStyle style = AddressingStyle::automatic;  ///< the profile's s3.addressing_style

  /// Throws Error: io, if the profile's files cannot be read; invalid_argument, if the endpoint is not a URL.
  static AwsEndpoint of_user();
};

/// Uses a host per bucket if possible: at Amazon, for names without a dot, which its certificates cover. Otherwise the
/// bucket is the first part of the path.
BucketPlace aws_place(const AwsEndpoint& endpoint, const std::string& region, const std::string& bucket);

/// Returns true if it is a valid region name: it becomes part of a host name, and may come from an answer.
bool is_region(std::string_view name);

/// Splits a URL into "https://host:port" and a path without a trailing slash. `name` is the setting that contains the
/// URL, for errors. Throws Error: invalid_argument, for other forms, including credentials before the host.
struct EndpointUrl {
  std::string origin;
  std::string host;
  std::string path;
};
EndpointUrl endpoint_url(const std::string& url, const std::string& name);

}  // namespace penstock
