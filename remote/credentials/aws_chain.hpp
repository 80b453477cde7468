// Finds credentials in the places where AWS's tools look, in the same order.
#pragma once

#include <optional>
#include <string>

#include <remote/credentials/key_requests.hpp>
#include <remote/credentials/renewed.hpp>
#include <remote/sign/aws_v4.hpp>

namespace penstock {

/// A role to assume.
struct AwsRole {
  std::string arn;
  std::string session = {};      ///< empty: "penstock"
  std::string external_id = {};  ///< for roles that require one
  std::string region = {};       ///< of the STS endpoint; empty: us-east-1
};

/// Calls AssumeRoleWithWebIdentity with the token in the file, which is read again each time. Throws Error: io.
Found<AwsKeys> keys_of_web_identity(const KeyRequest& ask, const AwsRole& role, const std::string& token_file);
/// Calls AssumeRole, signed with `keys`. Throws Error: io.
Found<AwsKeys> keys_of_role(const KeyRequest& ask, const AwsRole& role, const AwsKeys& keys);

/// Returns nothing if the variables do not name such a service. Throws Error: io; invalid_argument, if the address is
/// neither https nor local to the machine.
std::optional<Found<AwsKeys>> keys_of_container(const KeyRequest& ask);

/// Returns nothing if there is no such service or no role. Throws Error: io, if the service exists and fails.
std::optional<Found<AwsKeys>> keys_of_machine(const KeyRequest& ask);

/// Searches, in this order:
/// - AWS_NO_SIGN_REQUEST or PENSTOCK_ANONYMOUS: requests are not signed;
/// - AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN;
/// - AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN, which STS exchanges for keys;
/// - the profile (AWS_PROFILE or "default") of ~/.aws/credentials and ~/.aws/config: its keys, credential_process,
///   web identity, or a role assumed with the keys of source_profile or credential_source;
/// - the container's service (AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI);
/// - the metadata service of the machine, version 2, which has one second to answer.
///
/// If nothing is found, the result has no secret. If an explicitly configured source fails, throws Error: io;
/// invalid_argument; unsupported (single sign-on, roles that require a code). The message names the source and contains
/// no secrets.
Found<AwsKeys> find_aws_keys(const KeyRequest& ask);

}  // namespace penstock
