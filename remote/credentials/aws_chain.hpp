// Where AWS's tools look for credentials, in their order.
#pragma once

#include <optional>
#include <string>

#include <remote/credentials/key_requests.hpp>
#include <remote/credentials/renewed.hpp>
#include <remote/sign/aws_v4.hpp>

namespace penstock {

/// A role, and who takes it.
struct AwsRole {
  std::string arn;
  std::string session = {};      ///< empty: "penstock"
  std::string external_id = {};  ///< of roles that want one
  std::string region = {};       ///< of the STS that is asked; empty: us-east-1's
};

/// AssumeRoleWithWebIdentity with the token in the file, which is read anew each time. Throws Error: io.
Found<AwsKeys> keys_of_web_identity(const KeyRequest& ask, const AwsRole& role, const std::string& token_file);
/// AssumeRole, signed with `keys`. Throws Error: io.
Found<AwsKeys> keys_of_role(const KeyRequest& ask, const AwsRole& role, const AwsKeys& keys);

/// None where the variables name no such service. Throws Error: io; invalid_argument, for an address that is neither
/// https nor of the machine itself.
std::optional<Found<AwsKeys>> keys_of_container(const KeyRequest& ask);

/// None where there is no such service, or no role. Throws Error: io, where it is there and fails.
std::optional<Found<AwsKeys>> keys_of_machine(const KeyRequest& ask);

/// Looks, in this order, at
/// - AWS_NO_SIGN_REQUEST or PENSTOCK_ANONYMOUS: none are wanted;
/// - AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN;
/// - AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN, which STS takes for keys;
/// - the profile (AWS_PROFILE or "default") of ~/.aws/credentials and ~/.aws/config: its keys, credential_process,
///   web identity, or a role taken with the keys of source_profile or credential_source;
/// - the container's service (AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI);
/// - the metadata service of the machine, version 2, which has a second to answer.
/// None found: no secret. Throws Error: io, invalid_argument, unsupported (single sign-on, roles that want a code), for
/// what was asked for by name and cannot be had; it tells where, and nothing that is secret.
Found<AwsKeys> find_aws_keys(const KeyRequest& ask);

}  // namespace penstock
