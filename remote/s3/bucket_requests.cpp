#include <algorithm>
#include <utility>

#include <penstock/error.hpp>
#include <remote/http/header_values.hpp>
#include <remote/s3/bucket_address.hpp>
#include <remote/s3/bucket_requests.hpp>
#include <remote/s3/store_error.hpp>

namespace penstock {
namespace {

// Reuses a signed request for this time. Stores accept signatures that are some minutes old, and keys are renewed
// earlier than they expire.
constexpr std::chrono::seconds kPreparedFor{30};
constexpr std::size_t kMostPrepared = 4096;
constexpr std::size_t kMostAskedForReasons = 1000;

std::string_view name_of_method(HttpMethod method) {
  constexpr std::string_view kNames[]{"GET", "HEAD", "PUT", "POST", "DELETE"};
  return kNames[static_cast<std::size_t>(method)];
}

}  // namespace

BucketRequests::BucketRequests(std::unique_ptr<BucketService> service) : service_(std::move(service)) {}

bool BucketRequests::speaks(std::string_view address) const {
  const std::string_view scheme = service_->scheme();
  return address.starts_with(scheme) && address.substr(scheme.size()).starts_with("://");
}

std::string BucketRequests::admit(const std::string& address) {
  // Rejects credentials before the bucket's name, which some tools allow, before the address is used anywhere.
  const std::string_view rest = std::string_view(address).substr(service_->scheme().size() + 3);
  const bool odd = rest.substr(0, rest.find('/')).find_first_of("@:") != std::string_view::npos;
  if (odd) bucket_address(service_->scheme(), address);
  return address;
}

std::string BucketRequests::access(const std::string&) {
  return service_->remark({});
}

bool BucketRequests::stale(const std::string&) {
  return service_->stale();
}

void BucketRequests::renew(const std::string& address) {
  try {
    service_->renew();
  } catch (const Error& error) {
    throw error.in({.dataset = address});
  }
}

HttpRequest BucketRequests::request(HttpMethod method, const std::string& bucket, const std::string& key,
                                    const Query& query, std::span<const std::byte> body,
                                    const std::string& payload_hash) {
  const BucketPlace place = service_->place(bucket);
  std::string path = place.path + percent_encoded_path(key);
  const std::string text = canonical_query(query);
  HttpRequest made{.method = method, .url = place.origin + path, .body = body};
  if (!text.empty()) made.url += "?" + text;
  made.own_headers =
      service_->allow(bucket, {.method = name_of_method(method),
                               .host = place.host,
                               .path = path,
                               .query = text,
                               .headers = {},
                               .payload_hash = payload_hash.empty() ? std::string(kNoPayload) : payload_hash});
  return made;
}

HttpRequest BucketRequests::find(const std::string& address) {
  const BucketAddress parts = object_address(service_->scheme(), address);
  bool wants_reason = false;
  {
    const std::lock_guard lock(mutex_);
    wants_reason = asked_for_reasons_.contains(address);
  }
  if (!wants_reason) return request(HttpMethod::head, parts.bucket, parts.key);
  HttpRequest asked = request(HttpMethod::get, parts.bucket, parts.key);
  asked.headers.push_back("Range: bytes=0-0");
  return asked;
}

HttpRequest BucketRequests::read_whole(const std::string& address) {
  const BucketAddress parts = object_address(service_->scheme(), address);
  return request(HttpMethod::get, parts.bucket, parts.key);
}

HttpRequest BucketRequests::read_range(const StoredObject& object, std::uint64_t offset, std::uint64_t length) {
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t state = service_->state();
  HttpRequest asked;
  {
    const std::lock_guard lock(mutex_);
    const auto found = prepared_.find(object.address);
    if (found != prepared_.end() && found->second.until > now && found->second.state == state)
      asked = found->second.request;
  }
  if (asked.url.empty()) {
    const BucketAddress parts = object_address(service_->scheme(), object.address);
    asked = request(HttpMethod::get, parts.bucket, parts.key);
    const std::lock_guard lock(mutex_);
    if (prepared_.size() >= kMostPrepared) prepared_.clear();
    prepared_.insert_or_assign(object.address, Prepared{asked, now + kPreparedFor, state});
  }
  asked.headers.push_back("Range: bytes=" + std::to_string(offset) + "-" + std::to_string(offset + length - 1));
  if (is_strong_etag(object.state().version)) asked.headers.push_back("If-Match: " + object.state().version);
  return asked;
}

Meaning BucketRequests::meaning(const HttpResponse& response) const {
  const int status = response.status;
  if (status == 301 && !response.header("x-amz-bucket-region").empty()) return Meaning::anew;
  if (status < 400) return Dialect::meaning(response);
  const StoreError error = store_error(response.body);
  if (status == 401) return Meaning::anew;
  if (status == 404) return error.code == "NoSuchBucket" ? Meaning::refused : Meaning::absent;
  if (tells_of_expired_keys(error) || error.code == "RequestTimeTooSkewed") return Meaning::anew;
  if (status == 400 || status == 403) {
    if (!error.region.empty() || error.code.empty()) return Meaning::anew;
    return error.code == "RequestTimeout" ? Meaning::again : Meaning::refused;
  }
  if (status == 409) return error.code == "OperationAborted" ? Meaning::again : Meaning::refused;
  return Dialect::meaning(response);
}

void BucketRequests::learn(const std::string& address, const HttpResponse& response) {
  const StoreError error = store_error(response.body);
  service_->learn(bucket_address(service_->scheme(), address).bucket, response, error);
  const std::lock_guard lock(mutex_);
  prepared_.clear();
  if (error.code.empty() && asked_for_reasons_.size() < kMostAskedForReasons) {
    asked_for_reasons_.insert(address);
  } else {
    asked_for_reasons_.erase(address);
  }
}

std::string BucketRequests::reason(const HttpResponse& response) const {
  const StoreError error = store_error(response.body);
  std::string text = error.code;
  if (!error.message.empty()) text += (text.empty() ? "" : ": ") + error.message;
  if (response.status != 400 && response.status != 401 && response.status != 403) return text;
  const std::string remark = service_->remark(error);
  if (!remark.empty()) text += (text.empty() ? "" : "; ") + remark;
  return text;
}

}  // namespace penstock
