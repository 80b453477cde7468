#include <algorithm>

#include <penstock/error.hpp>
#include <remote/s3/aws_endpoint.hpp>
#include <remote/text/profile_file.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

bool is_host_label(std::string_view bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 && bucket.front() != '-' && bucket.back() != '-' &&
         std::ranges::all_of(bucket,
                             [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

bool is_region(std::string_view name) {
  return !name.empty() && name.size() <= 40 &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

EndpointUrl endpoint_url(const std::string& url, const std::string& name) {
  const auto refuse = [&](const char* why) { return Error::invalid_argument(name + " is not an endpoint: " + why); };
  const std::size_t scheme_end = url.find("://");
  const std::string scheme = scheme_end == std::string::npos ? "" : url.substr(0, scheme_end);
  if (scheme != "http" && scheme != "https") throw refuse("it begins with neither http:// nor https://");
  const std::size_t begin = scheme_end + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  EndpointUrl parts{.origin = {}, .host = url.substr(begin, end - begin), .path = url.substr(end)};
  if (parts.host.empty() || std::ranges::any_of(url, [](unsigned char c) { return c <= 32 || c == 127; }))
    throw refuse("it has no host, or contains spaces or control characters");
  if (parts.host.find('@') != std::string::npos) throw refuse("it has a user name or a password before its host");
  if (parts.path.find_first_of("?#") != std::string::npos) throw refuse("it has a query");
  while (parts.path.ends_with('/')) parts.path.pop_back();
  // The default port is not sent in the Host header, so it must not be signed.
  const std::string_view usual = scheme == "http" ? ":80" : ":443";
  if (parts.host.ends_with(usual)) parts.host.resize(parts.host.size() - usual.size());
  parts.origin = scheme + "://" + parts.host;
  return parts;
}

AwsEndpoint AwsEndpoint::of_user() {
  const Profiles profiles = Profiles::of_user();
  const Profile* const profile = profiles.find(profile_of_user());
  AwsEndpoint endpoint;
  if (auto region = variable("AWS_REGION")) {
    endpoint.region = *region;
  } else if (auto other = variable("AWS_DEFAULT_REGION")) {
    endpoint.region = *other;
  } else {
    endpoint.region = setting(profile, "region").value_or("");
  }
  if (!is_switched_on("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
    std::string name = "AWS_ENDPOINT_URL_S3";
    auto url = variable("AWS_ENDPOINT_URL_S3");
    if (!url) {
      name = "AWS_ENDPOINT_URL";
      url = variable("AWS_ENDPOINT_URL");
    }
    if (!url) {
      name = "the profile's endpoint_url";
      url = setting(profile, "s3.endpoint_url");
    }
    if (!url) url = setting(profile, "endpoint_url");
    if (url) {
      endpoint_url(*url, name);
      endpoint.url = *url;
    }
  }
  const std::string style = setting(profile, "s3.addressing_style").value_or("auto");
  if (style == "path") endpoint.style = AddressingStyle::path;
  if (style == "virtual") endpoint.style = AddressingStyle::virtual_host;
  return endpoint;
}

BucketPlace aws_place(const AwsEndpoint& endpoint, const std::string& region, const std::string& bucket) {
  EndpointUrl url;
  if (endpoint.url.empty()) {
    if (!is_region(region))
      throw Error::invalid_argument("the region is not valid: its name must have 1 to 40 characters a-z, 0-9 and -");
    url = endpoint_url("https://s3." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : ""),
                       "Amazon's address");
  } else {
    url = endpoint_url(endpoint.url, "the endpoint");
  }
  const bool host_for_each = endpoint.style == AddressingStyle::virtual_host ||
                             (endpoint.style == AddressingStyle::automatic && endpoint.url.empty());
  if (!host_for_each || !is_host_label(bucket)) return {url.origin, url.host, url.path + "/" + bucket + "/"};
  const std::size_t host = url.origin.find("://") + 3;
  return {url.origin.substr(0, host) + bucket + "." + url.host, bucket + "." + url.host, url.path + "/"};
}

}  // namespace penstock
