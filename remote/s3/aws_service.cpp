#include <cstdlib>

#include <penstock/error.hpp>
#include <remote/credentials/aws_chain.hpp>
#include <remote/http/header_values.hpp>
#include <remote/s3/aws_service.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostRegions = 10'000;

}  // namespace

AwsService::AwsService(const KeyRequest& ask) : keys_([ask] { return find_aws_keys(ask); }) {}

const AwsEndpoint& AwsService::endpoint() {  // requires mutex_
  if (!endpoint_) endpoint_ = AwsEndpoint::of_user();
  return *endpoint_;
}

std::string AwsService::region_of(const std::string& bucket) {  // requires mutex_
  const auto learnt = regions_.find(bucket);
  if (learnt != regions_.end()) return learnt->second;
  return endpoint().region.empty() ? "us-east-1" : endpoint().region;
}

BucketPlace AwsService::place(const std::string& bucket) {
  const std::lock_guard lock(mutex_);
  return aws_place(endpoint(), region_of(bucket), bucket);
}

void AwsService::renew() {
  keys_.renew();
  state_.fetch_add(1, std::memory_order_release);
}

std::vector<std::string> AwsService::allow(const std::string& bucket, const SigningRequest& request) {
  const auto found = keys_.now();
  if (!found || !found->secret) return {};
  const std::lock_guard lock(mutex_);
  if (signers_keys_ != found) {
    signers_.clear();
    signers_keys_ = found;
  }
  const std::string region = region_of(bucket);
  AwsSigner& signer = signers_.try_emplace(region, *found->secret, region, "s3").first->second;
  SigningRequest with_payload = request;
  with_payload.headers.emplace_back("x-amz-content-sha256", request.payload_hash);
  std::vector<std::string> headers{"x-amz-content-sha256: " + request.payload_hash};
  for (const auto& [name, value] : signer.sign(with_payload, std::chrono::system_clock::now() + clock_ahead_))
    headers.push_back(name + ": " + value);
  return headers;
}

void AwsService::learn(const std::string& bucket, const HttpResponse& response, const StoreError& error) {
  std::string region(response.header("x-amz-bucket-region"));
  if (region.empty()) region = error.region;
  if (tells_of_expired_keys(error)) {
    keys_.doubt();
  } else if (error.code == "RequestTimeTooSkewed") {
    if (const auto theirs = parse_http_date(response.header("date"))) {
      const auto ours = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
      const std::lock_guard lock(mutex_);
      clock_ahead_ = std::chrono::seconds(*theirs) - ours.time_since_epoch();
    }
  } else if (is_region(region)) {
    const std::lock_guard lock(mutex_);
    if (regions_.size() < kMostRegions) regions_[bucket] = region;
  } else if (const auto found = keys_.now(); error.code.empty() && found && found->expires) {
    keys_.doubt();  // an answer to HEAD has no body, so its cause is unknown
  }
  state_.fetch_add(1, std::memory_order_release);
}

std::vector<std::string> AwsService::secrets() const {
  const auto found = keys_.now();
  if (!found || !found->secret) return {};
  return {found->secret->secret, found->secret->token};
}

std::string AwsService::remark(const StoreError& error) const {
  const auto found = keys_.now();
  if (!found) return {};
  if (!found->secret) return "sent without a signature: " + found->origin;
  if (error.code == "RequestTimeTooSkewed") {
    const std::lock_guard lock(mutex_);
    return "this machine's clock differs by " + std::to_string(std::abs(clock_ahead_.count())) + " s from the store's";
  }
  return "signed with the keys of " + found->origin;
}

}  // namespace penstock
