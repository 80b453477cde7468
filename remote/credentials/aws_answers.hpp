// What services and programs answer that give keys of AWS.
#pragma once

#include <string>
#include <string_view>

#include <remote/credentials/renewed.hpp>
#include <remote/sign/aws_v4.hpp>

namespace penstock {

/// JSON with AccessKeyId, SecretAccessKey, Expiration, and the token under `token_name`. Throws Error: io, naming
/// `origin`, which tells nothing of the text.
Found<AwsKeys> keys_of_json(std::string_view text, std::string_view token_name, const std::string& origin);

/// XML of STS: the element Credentials, anywhere in it. Throws Error as above.
Found<AwsKeys> keys_of_sts(std::string_view text, const std::string& origin);

/// "AccessDenied: why" of an answer of STS that is an error; empty: it is none.
std::string sts_reason(std::string_view text);

}  // namespace penstock
