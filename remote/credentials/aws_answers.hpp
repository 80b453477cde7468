// Parses the answers of services and programs that provide AWS keys.
#pragma once

#include <string>
#include <string_view>

#include <remote/credentials/renewed.hpp>
#include <remote/sign/aws_v4.hpp>

namespace penstock {

/// Parses JSON with AccessKeyId, SecretAccessKey, Expiration, and the token under `token_name`. Throws Error: io,
/// naming `origin` but not the text.
Found<AwsKeys> keys_of_json(std::string_view text, std::string_view token_name, const std::string& origin);

/// Parses XML of STS: the element Credentials, at any level. Throws as above.
Found<AwsKeys> keys_of_sts(std::string_view text, const std::string& origin);

/// Returns "AccessDenied: why" for an error answer of STS; empty if it is not an error.
std::string sts_reason(std::string_view text);

}  // namespace penstock
