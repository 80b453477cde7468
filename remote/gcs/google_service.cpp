#include <chrono>

#include <remote/credentials/google_token.hpp>
#include <remote/gcs/google_service.hpp>
#include <remote/s3/aws_endpoint.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

std::optional<AwsKeys> google_hmac_keys() {
  const auto id = variable("GCS_KEY");
  const auto secret = variable("GCS_SECRET");
  if (!id || !secret || is_switched_on("PENSTOCK_ANONYMOUS")) return std::nullopt;
  return AwsKeys{*id, *secret, ""};
}

constexpr const char* kByHmac = "the HMAC keys GCS_KEY and GCS_SECRET";

}  // namespace

GoogleService::GoogleService(const KeyRequest& ask)
    : token_([ask]() -> Found<std::string> {
        if (google_hmac_keys()) return {.origin = kByHmac};
        return find_google_token(ask);
      }) {}

BucketPlace GoogleService::place(const std::string& bucket) {
  std::string url = variable("STORAGE_EMULATOR_HOST").value_or("https://storage.googleapis.com");
  if (url.find("://") == std::string::npos) url.insert(0, "http://");
  const EndpointUrl endpoint = endpoint_url(url, "STORAGE_EMULATOR_HOST");
  return {endpoint.origin, endpoint.host, endpoint.path + "/" + bucket + "/"};
}

void GoogleService::renew() {
  token_.renew();
  state_.fetch_add(1, std::memory_order_release);
}

std::vector<std::string> GoogleService::allow(const std::string&, const SigningRequest& request) {
  const auto found = token_.now();
  if (found && found->secret) return {"Authorization: Bearer " + *found->secret};
  const std::lock_guard lock(mutex_);
  if (!signer_) {
    const auto keys = google_hmac_keys();
    if (!keys) return {};
    signer_.emplace(*keys, "auto", "s3");
  }
  SigningRequest with_payload = request;
  with_payload.headers.emplace_back("x-amz-content-sha256", request.payload_hash);
  std::vector<std::string> headers{"x-amz-content-sha256: " + request.payload_hash};
  for (const auto& [name, value] : signer_->sign(with_payload, std::chrono::system_clock::now()))
    headers.push_back(name + ": " + value);
  return headers;
}

void GoogleService::learn(const std::string&, const HttpResponse& response, const StoreError& error) {
  const auto found = token_.now();
  const bool of_no_use = response.status == 401 || tells_of_expired_keys(error);
  if (found && found->secret && (of_no_use || error.code.empty())) token_.doubt();
  state_.fetch_add(1, std::memory_order_release);
}

std::vector<std::string> GoogleService::secrets() const {
  std::vector<std::string> all;
  if (const auto found = token_.now(); found && found->secret) all.push_back(*found->secret);
  if (const auto keys = google_hmac_keys()) all.push_back(keys->secret);
  return all;
}

std::string GoogleService::remark(const StoreError&) const {
  const auto found = token_.now();
  if (!found) return {};
  if (found->origin == kByHmac) return "signed with " + found->origin;
  if (!found->secret) return "sent without a token: " + found->origin;
  return "sent with a token of " + found->origin;
}

}  // namespace penstock
