#include <chrono>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <base/printable.hpp>
#include <penstock/base/error.hpp>
#include <remote/credentials/aws_answers.hpp>
#include <remote/credentials/aws_services.hpp>
#include <remote/sign/digest.hpp>
#include <remote/sign/percent.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 20s;  // of services that must answer

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

// What a header may hold: else a file's line would be a header of its own.
void require_header_value(const std::string& value, const std::string& origin) {
  for (const char c : value)
    if (static_cast<unsigned char>(c) < 32 || c == 127)
      throw Error::invalid_argument(origin + ": the token has a character that no header holds");
}

// As AWS's tools allow: else whoever sets a variable could send the token anywhere.
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
        "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor an address of the machine itself");
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
  } catch (const Error&) {  // another cloud's machine, or none's
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

}  // namespace penstock
