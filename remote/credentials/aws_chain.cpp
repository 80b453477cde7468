#include <chrono>
#include <span>
#include <string_view>
#include <utility>

#include <base/printable.hpp>
#include <penstock/error.hpp>
#include <remote/credentials/aws_answers.hpp>
#include <remote/credentials/aws_chain.hpp>
#include <remote/credentials/process.hpp>
#include <remote/http/header_values.hpp>
#include <remote/sign/digest.hpp>
#include <remote/sign/percent.hpp>
#include <remote/text/profile_file.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 20s;  // for services that must answer

std::span<const std::byte> body_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string host_of(std::string_view origin) {
  const std::size_t slashes = origin.find("://");
  if (slashes != std::string_view::npos) origin.remove_prefix(slashes + 3);
  return std::string(origin.substr(0, origin.find('/')));
}

std::string without_slash(std::string origin) {
  while (origin.ends_with('/')) origin.pop_back();
  return origin;
}

std::string sts_origin(const std::string& region) {
  if (auto endpoint = variable("AWS_ENDPOINT_URL_STS")) return without_slash(*endpoint);
  if (auto endpoint = variable("AWS_ENDPOINT_URL")) return without_slash(*endpoint);
  if (region.empty()) return "https://sts.amazonaws.com";
  return "https://sts." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
}

Found<AwsKeys> answered_by_sts(const HttpResponse& answer, const std::string& origin) {
  if (answer.status != 200) {
    const std::string reason = sts_reason(answer.body);
    throw Error(ErrorKind::io,
                origin + ": answered " + std::to_string(answer.status) + (reason.empty() ? "" : " (" + reason + ")"));
  }
  return keys_of_sts(answer.body, origin);
}

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

// Rejects characters that a header cannot contain. Otherwise a line of the file would become a separate header.
void require_header_value(const std::string& value, const std::string& origin) {
  for (const char c : value)
    if (static_cast<unsigned char>(c) < 32 || c == 127)
      throw Error::invalid_argument(origin + ": the token has a character that an HTTP header cannot contain");
}

// Allows the same hosts as AWS's tools. Otherwise anybody who can set a variable could send the token to any host.
bool is_of_machine(const std::string& url) {
  if (url.starts_with("https://")) return true;
  const std::string host = host_of(url);
  const std::string name = host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
  return name == "localhost" || name.starts_with("127.") || name == "[::1]" || name == "169.254.170.2" ||
         name == "169.254.170.23" || name == "[fd00:ec2::23]";
}

int whole_number(const char* name, int otherwise) {
  const auto text = variable(name);
  if (!text) return otherwise;
  const int number = std::atoi(text->c_str());
  return number > 0 && number <= 3600 ? number : otherwise;
}

using AwsFound = Found<AwsKeys>;

constexpr int kMostSources = 4;  // limit on profiles that refer to each other

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
  } catch (const Error& error) {  // the command may contain secrets, so it is not shown
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
                             " assumes a role that requires an MFA code: use credential_process, or set the "
                             "environment variables that `aws configure export-credentials` prints");
  std::optional<AwsFound> source;
  if (const auto source_name = setting(&profile, "source_profile")) {
    const Profile* const named = profiles.find(*source_name);
    // A profile may be its own source, with keys next to the role.
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
    throw Error::invalid_argument(origin + " assumes a role, but its source_profile or credential_source has no keys");
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
    throw Error::unsupported(
        origin +
        " uses single sign-on in a browser, which penstock does not support: use credential_process with "
        "`aws configure export-credentials --format process`, or keys in the environment");
  return std::nullopt;
}

AwsFound search_aws_keys(const KeyRequest& ask) {
  if (is_switched_on("AWS_NO_SIGN_REQUEST") || is_switched_on("PENSTOCK_ANONYMOUS"))
    return {.origin = "anonymous access was requested (AWS_NO_SIGN_REQUEST or PENSTOCK_ANONYMOUS)"};
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
    throw Error::invalid_argument("the files of AWS's configuration and credentials have no profile " +
                                  double_quoted(name));
  if (auto found = keys_of_profile(ask, profiles, name, kMostSources)) return *std::move(found);
  if (auto found = keys_of_container(ask)) return *std::move(found);
  if (auto found = keys_of_machine(ask)) return *std::move(found);
  return {.origin = "no credentials were found: environment, profile " + double_quoted(name) +
                    ", container and metadata service have none"};
}

}  // namespace

Found<AwsKeys> keys_of_web_identity(const KeyRequest& ask, const AwsRole& role, const std::string& token_file) {
  const std::string origin = "web identity (AWS STS)";
  const auto token = small_file(in_home(token_file));
  if (!token) throw Error(ErrorKind::io, origin + ": there is no file " + token_file);
  const std::string form = form_of({{"Action", "AssumeRoleWithWebIdentity"},
                                    {"Version", "2011-06-15"},
                                    {"RoleArn", role.arn},
                                    {"RoleSessionName", role.session.empty() ? "penstock" : role.session},
                                    {"WebIdentityToken", without_line_end(*token)}});
  const HttpRequest request{.method = HttpMethod::post,
                            .url = sts_origin(role.region) + "/",
                            .headers = {"Content-Type: application/x-www-form-urlencoded"},
                            .body = body_of(form)};
  return answered_by_sts(ask(origin, request, kPatience, 3), origin);
}

Found<AwsKeys> keys_of_role(const KeyRequest& ask, const AwsRole& role, const AwsKeys& keys) {
  const std::string origin = "the role " + one_line(role.arn) + " (AWS STS)";
  std::string form = form_of({{"Action", "AssumeRole"},
                              {"Version", "2011-06-15"},
                              {"RoleArn", role.arn},
                              {"RoleSessionName", role.session.empty() ? "penstock" : role.session}});
  if (!role.external_id.empty()) form += "&" + form_of({{"ExternalId", role.external_id}});
  const std::string url = sts_origin(role.region);
  AwsSigner signer(keys, role.region.empty() ? "us-east-1" : role.region, "sts");
  const std::string host = host_of(url);
  HttpRequest request{.method = HttpMethod::post,
                      .url = url + "/",
                      .headers = {"Content-Type: application/x-www-form-urlencoded"},
                      .body = body_of(form)};
  for (const auto& [name, value] : signer.sign({.method = "POST",
                                   .host = host,
                                   .path = "/",
                                   .query = "",
                                   .headers = {},
                                   .payload_hash = hexadecimal(sha256(form))},
                                               std::chrono::system_clock::now()))
    request.own_headers.push_back(name + ": " + value);
  return answered_by_sts(ask(origin, request, kPatience, 3), origin);
}

std::optional<Found<AwsKeys>> keys_of_container(const KeyRequest& ask) {
  const std::string origin = "the container's credentials";
  std::string url;
  if (const auto relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    url = "http://169.254.170.2" + *relative;
  } else if (const auto full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    url = *full;
  } else {
    return std::nullopt;
  }
  if (!is_of_machine(url))
    throw Error::invalid_argument(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither an https address nor an address of this machine");
  HttpRequest request{.url = url, .direct = !url.starts_with("https://")};
  auto token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    token = small_file(*file);
    if (!token) throw Error(ErrorKind::io, origin + ": there is no file " + *file);
  }
  if (token) {
    token = without_line_end(*token);
    require_header_value(*token, origin);
    request.own_headers.push_back("Authorization: " + *token);
  }
  const HttpResponse answer = ask(origin, request, 10s, 3);
  if (answer.status != 200) throw Error(ErrorKind::io, origin + ": answered " + std::to_string(answer.status));
  return keys_of_json(answer.body, "Token", origin);
}

std::optional<Found<AwsKeys>> keys_of_machine(const KeyRequest& ask) {
  if (is_switched_on("AWS_EC2_METADATA_DISABLED")) return std::nullopt;
  const std::string origin = "the machine's metadata service";
  const std::string service =
      without_slash(variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254"));
  const std::chrono::seconds patience(whole_number("AWS_METADATA_SERVICE_TIMEOUT", 1));
  const auto attempts = static_cast<unsigned>(whole_number("AWS_METADATA_SERVICE_NUM_ATTEMPTS", 1));
  HttpRequest for_token{.method = HttpMethod::put,
                        .url = service + "/latest/api/token",
                        .own_headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"},
                        .direct = true};
  HttpResponse token;
  try {
    token = ask(origin, for_token, patience, attempts);
  } catch (const Error&) {  // a machine of another cloud, or of none
    return std::nullopt;
  }
  if (token.status != 200 || token.body.empty()) return std::nullopt;
  require_header_value(token.body, origin);
  HttpRequest request{.url = service + "/latest/meta-data/iam/security-credentials/",
                      .own_headers = {"X-aws-ec2-metadata-token: " + token.body},
                      .direct = true};
  const HttpResponse roles = ask(origin, request, 5s, 3);
  const std::string role = without_line_end(roles.body.substr(0, roles.body.find('\n')));
  if (roles.status != 200 || role.empty()) return std::nullopt;
  request.url += percent_encoded(role);
  const HttpResponse answer = ask(origin, request, 5s, 3);
  if (answer.status != 200) throw Error(ErrorKind::io, origin + ": answered " + std::to_string(answer.status));
  return keys_of_json(answer.body, "Token", origin);
}

Found<AwsKeys> find_aws_keys(const KeyRequest& ask) {
  AwsFound found = search_aws_keys(ask);
  if (found.secret &&
      !(fits_header(found.secret->id) && fits_header(found.secret->secret) && fits_header(found.secret->token)))
    throw Error::invalid_argument("the keys of " + found.origin +
                                  " have a character that an HTTP header cannot contain");
  return found;
}

}  // namespace penstock
