// Where AWS's tools look for credentials, in their order.
#pragma once

#include <remote/credentials/key_requests.hpp>
#include <remote/credentials/renewed.hpp>
#include <remote/sign/aws_v4.hpp>

namespace penstock {

/// Looks, in this order, at
/// - AWS_NO_SIGN_REQUEST or PENSTOCK_ANONYMOUS: none are wanted;
/// - AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN;
/// - AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN, which STS takes for keys;
/// - the profile (AWS_PROFILE or "default") of ~/.aws/credentials and ~/.aws/config: its keys, credential_process, web
/// identity,
///   or a role taken with the keys of source_profile or credential_source;
/// - the container's service (AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI);
/// - the metadata service of the machine, version 2, which has a second to answer.
/// None found: no secret. Throws Error: io, invalid_argument, unsupported (single sign-on, roles that want a code), for
/// what was asked for by name and cannot be had; it tells where, and nothing that is secret.
Found<AwsKeys> find_aws_keys(const KeyRequest& ask);

}  // namespace penstock
