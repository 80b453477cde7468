#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include <base/printable.hpp>
#include <formats/text/json_document.hpp>
#include <penstock/error.hpp>
#include <remote/credentials/google_token.hpp>
#include <remote/http/header_values.hpp>
#include <remote/sign/jwt.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

using TokenFound = Found<std::string>;

constexpr const char* kGoogleScope = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr const char* kGoogleTokens = "https://oauth2.googleapis.com/token";

// Returns the strings and integers of a JSON object as strings.
std::map<std::string, std::string> members_of(const std::string& text, const std::string& origin) {
  std::map<std::string, std::string> members;
  try {
    const JsonDocument document(text);
    for (const auto& [name, value] : document.root().items()) {
      if (value.is_string()) members[name] = value.get<std::string>();
      if (value.is_number_integer()) members[name] = std::to_string(value.get<std::int64_t>());
    }
  } catch (const nlohmann::json::exception&) {  // its message quotes the text
    throw Error(ErrorKind::io, origin + " returned no JSON");
  } catch (const Error&) {
    throw Error(ErrorKind::io, origin + " returned no JSON");
  }
  return members;
}

TokenFound given_token(const HttpResponse& answer, const std::string& origin) {
  if (answer.status != 200) throw Error(ErrorKind::io, origin + ": answered " + std::to_string(answer.status));
  auto members = members_of(answer.body, origin);
  const std::string& token = members["access_token"];
  if (token.empty() || !is_printable(token)) throw Error(ErrorKind::io, origin + " returned no token");
  TokenFound found{token, {}, origin};
  constexpr std::uint64_t kYear = 366 * 86'400;
  const auto lasts = parse_digits(members["expires_in"]);
  if (lasts && *lasts <= kYear) found.expires = std::chrono::system_clock::now() + std::chrono::seconds(*lasts);
  return found;
}

TokenFound token_by_file(const KeyRequest& ask, const std::string& text, const std::string& origin) {
  auto members = members_of(text, origin);
  const std::string tokens = members["token_uri"].empty() ? kGoogleTokens : members["token_uri"];
  std::string form;
  if (members["type"] == "authorized_user") {
    form = form_of({{"grant_type", "refresh_token"},
                    {"client_id", members["client_id"]},
                    {"client_secret", members["client_secret"]},
                    {"refresh_token", members["refresh_token"]}});
  } else if (members["type"] == "service_account") {
    form = form_of(
        {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
         {"assertion", service_account_claim(members["client_email"], members["private_key_id"], members["private_key"],
                                             kGoogleScope, tokens, std::chrono::system_clock::now())}});
  } else {
    throw Error::unsupported(origin + " has the type " + double_quoted(members["type"]) +
                             ", which penstock does not support: set a token in GOOGLE_OAUTH_ACCESS_TOKEN");
  }
  return given_token(ask(origin,
                         {.method = HttpMethod::post,
                          .url = tokens,
                          .headers = {"Content-Type: application/x-www-form-urlencoded"},
                          .body = std::as_bytes(std::span(form))},
                         std::chrono::seconds(20), 3),
                     origin);
}

std::optional<TokenFound> token_of_google_machine(const KeyRequest& ask) {
  const std::string origin = "the machine's metadata service";
  const std::string host = variable("GCE_METADATA_HOST").value_or("metadata.google.internal");
  try {
    return given_token(ask(origin,
                           {.url = "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token",
                            .headers = {"Metadata-Flavor: Google"},
                            .direct = true},
                           std::chrono::seconds(1), 1),
                       origin);
  } catch (const Error&) {  // another machine, or one without an account
    return std::nullopt;
  }
}

}  // namespace

Found<std::string> find_google_token(const KeyRequest& ask) {
  if (is_switched_on("PENSTOCK_ANONYMOUS")) return {.origin = "anonymous access was requested (PENSTOCK_ANONYMOUS)"};
  for (const char* const name : {"GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"}) {
    const auto token = variable(name);
    if (!token) continue;
    if (!is_printable(*token)) throw Error::invalid_argument(std::string(name) + " is not a token");
    return {.secret = *token, .origin = name};
  }
  if (const auto path = variable("GOOGLE_APPLICATION_CREDENTIALS")) {
    const auto text = small_file(*path);
    if (!text)
      throw Error::invalid_argument("GOOGLE_APPLICATION_CREDENTIALS names a file that does not exist: " + *path);
    return token_by_file(ask, *text, "the file " + *path);
  }
  const std::filesystem::path folder = in_home(variable("CLOUDSDK_CONFIG").value_or("~/.config/gcloud"));
  const std::filesystem::path usual = folder / "application_default_credentials.json";
  if (const auto text = small_file(usual)) return token_by_file(ask, *text, "the file " + usual.string());
  if (variable("STORAGE_EMULATOR_HOST") && !variable("GCE_METADATA_HOST"))
    return {.origin = "an emulator requires no token (STORAGE_EMULATOR_HOST)"};
  if (auto found = token_of_google_machine(ask)) return *std::move(found);
  return {.origin =
              "no credentials were found: environment, application default credentials and metadata service have "
              "none"};
}

}  // namespace penstock
