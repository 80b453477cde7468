#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <base/printable.hpp>
#include <penstock/base/error.hpp>
#include <remote/credentials/aws_answers.hpp>
#include <remote/credentials/aws_chain.hpp>
#include <remote/credentials/aws_services.hpp>
#include <remote/credentials/process.hpp>
#include <remote/http/header_values.hpp>
#include <remote/text/profile_file.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

using AwsFound = Found<AwsKeys>;

constexpr int kMostSources = 4;  // profiles that name one another

std::optional<AwsFound> keys_of_environment() {
  const auto id = variable("AWS_ACCESS_KEY_ID");
  const auto secret = variable("AWS_SECRET_ACCESS_KEY");
  if (!id || !secret) return std::nullopt;
  return AwsFound{AwsKeys{*id, *secret, variable("AWS_SESSION_TOKEN").value_or("")}, {}, "the environment"};
}

std::string aws_region(const Profile* profile) {
  if (auto region = variable("AWS_REGION")) return *region;
  if (auto region = variable("AWS_DEFAULT_REGION")) return *region;
  return setting(profile, "region").value_or("");
}

AwsFound keys_of_process(const std::string& command, const std::string& origin) {
  try {
    return keys_of_json(output_of(words_of(command), std::chrono::seconds(60)), "SessionToken", origin);
  } catch (const Error& error) {  // the command may hold secrets, and is not shown
    if (error.cause().starts_with(origin)) throw;
    throw Error(error.kind(), origin + ": " + error.cause());
  }
}

std::optional<AwsFound> keys_of_profile(const KeyRequest& ask, const Profiles& profiles, const std::string& name,
                                        int sources);

AwsFound keys_of_profiles_role(const KeyRequest& ask, const Profiles& profiles, const std::string& name,
                               const Profile& profile, int sources) {
  const std::string origin = "profile " + double_quoted(name);
  AwsRole role{.arn = *setting(&profile, "role_arn"),
               .session = setting(&profile, "role_session_name").value_or(""),
               .external_id = setting(&profile, "external_id").value_or(""),
               .region = aws_region(&profile)};
  if (const auto file = setting(&profile, "web_identity_token_file")) return keys_of_web_identity(ask, role, *file);
  if (setting(&profile, "mfa_serial"))
    throw Error::unsupported(origin +
                             " takes a role that wants a code: use credential_process, or keys in the "
                             "environment as `aws configure export-credentials` gives them");
  std::optional<AwsFound> source;
  if (const auto source_name = setting(&profile, "source_profile")) {
    const Profile* const named = profiles.find(*source_name);
    // A profile may be its own source, with keys beside the role.
    if (*source_name == name) {
      const auto id = setting(&profile, "aws_access_key_id");
      const auto secret = setting(&profile, "aws_secret_access_key");
      if (id && secret) source = AwsFound{AwsKeys{*id, *secret, ""}, {}, origin};
    } else if (named != nullptr && sources > 0) {
      source = keys_of_profile(ask, profiles, *source_name, sources - 1);
    }
  } else if (const auto kind = setting(&profile, "credential_source")) {
    if (*kind == "Environment") source = keys_of_environment();
    if (*kind == "EcsContainer") source = keys_of_container(ask);
    if (*kind == "Ec2InstanceMetadata") source = keys_of_machine(ask);
  }
  if (!source || !source->secret)
    throw Error::invalid_argument(origin + " takes a role, and what it should take it with has no keys");
  return keys_of_role(ask, role, *source->secret);
}

std::optional<AwsFound> keys_of_profile(const KeyRequest& ask, const Profiles& profiles, const std::string& name,
                                        int sources) {
  const Profile* const profile = profiles.find(name);
  if (profile == nullptr) return std::nullopt;
  const std::string origin = "profile " + double_quoted(name);
  if (setting(profile, "role_arn")) return keys_of_profiles_role(ask, profiles, name, *profile, sources);
  const auto id = setting(profile, "aws_access_key_id");
  const auto secret = setting(profile, "aws_secret_access_key");
  if (id && secret)
    return AwsFound{AwsKeys{*id, *secret, setting(profile, "aws_session_token").value_or("")}, {}, origin};
  if (const auto command = setting(profile, "credential_process"))
    return keys_of_process(*command, origin + "'s credential_process");
  if (setting(profile, "sso_session") || setting(profile, "sso_start_url"))
    throw Error::unsupported(origin +
                             " signs on with a browser, which penstock does not: use credential_process with "
                             "`aws configure export-credentials --format process`, or keys in the environment");
  return std::nullopt;
}

AwsFound search_aws_keys(const KeyRequest& ask) {
  if (is_switched_on("AWS_NO_SIGN_REQUEST") || is_switched_on("PENSTOCK_ANONYMOUS"))
    return {.origin = "no credentials are wanted (AWS_NO_SIGN_REQUEST or PENSTOCK_ANONYMOUS)"};
  if (auto found = keys_of_environment()) return *std::move(found);
  const Profiles profiles = Profiles::of_user();
  const std::string name = profile_of_user();
  const Profile* const profile = profiles.find(name);
  const auto token_file = variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto arn = variable("AWS_ROLE_ARN");
  if (token_file && arn)
    return keys_of_web_identity(
        ask, {.arn = *arn, .session = variable("AWS_ROLE_SESSION_NAME").value_or(""), .region = aws_region(profile)},
        *token_file);
  if (profile == nullptr && (variable("AWS_PROFILE") || variable("AWS_DEFAULT_PROFILE")))
    throw Error::invalid_argument("AWS's shared files have no profile " + double_quoted(name));
  if (auto found = keys_of_profile(ask, profiles, name, kMostSources)) return *std::move(found);
  if (auto found = keys_of_container(ask)) return *std::move(found);
  if (auto found = keys_of_machine(ask)) return *std::move(found);
  return {.origin = "no credentials were found: environment, profile " + double_quoted(name) +
                    ", container and metadata service have none"};
}

}  // namespace

Found<AwsKeys> find_aws_keys(const KeyRequest& ask) {
  AwsFound found = search_aws_keys(ask);
  if (found.secret &&
      !(fits_header(found.secret->id) && fits_header(found.secret->secret) && fits_header(found.secret->token)))
    throw Error::invalid_argument("the keys of " + found.origin + " have a character that no header holds");
  return found;
}

}  // namespace penstock
