// Services that give keys of AWS: STS for a token or a role, a container's, and the machine's metadata.
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

}  // namespace penstock
