#include <algorithm>

#include <penstock/error.hpp>
#include <remote/azure/azure_address.hpp>
#include <remote/azure/azure_requests.hpp>
#include <remote/http/header_values.hpp>
#include <remote/http/repeats.hpp>
#include <remote/s3/aws_endpoint.hpp>
#include <remote/s3/store_error.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

constexpr const char* kAzureVersion = "x-ms-version: 2021-12-02";
constexpr std::size_t kMostSas = 1000;

// Removes a leading "?". Throws Error: invalid_argument, if it contains characters that a URL cannot contain.
std::string checked_sas(std::string sas) {
  if (sas.starts_with('?')) sas.erase(0, 1);
  const bool fits = std::ranges::all_of(sas, [](unsigned char c) { return c > 32 && c < 127 && c != '#'; });
  if (!fits) throw Error::invalid_argument("the shared access signature has a character that a URL cannot contain");
  return sas;
}

AzureAddress blob_address(const std::string& address) {
  AzureAddress parts = azure_address(address);
  if (parts.blob.empty()) throw Error::invalid_argument("names a container, but no blob in it", {.dataset = address});
  return parts;
}

// Returns the error code of an answer. Answers to HEAD have it only in a header.
std::string azure_code(const HttpResponse& response) {
  const std::string_view header = response.header("x-ms-error-code");
  return header.empty() ? store_error(response.body).code : std::string(header.substr(0, 60));
}

}  // namespace

bool AzureRequests::speaks(std::string_view address) const {
  return is_azure_address(address);
}

std::string AzureRequests::admit(const std::string& address) {
  const std::size_t query = address.find('?');
  const std::string shown = address.substr(0, query);
  azure_address(shown);
  if (query == std::string::npos) return address;
  std::string sas = checked_sas(address.substr(query));
  const std::lock_guard lock(mutex_);
  if (sas_.size() >= kMostSas) sas_.clear();
  sas_[shown] = std::move(sas);
  return shown;
}

std::string AzureRequests::sas_of(const std::string& address) {
  {
    const std::lock_guard lock(mutex_);
    // Uses the SAS of the nearest enclosing folder.
    std::string above = address;
    while (!above.empty() && !sas_.empty()) {
      for (const std::string& name : {above, above + "/"})
        if (const auto found = sas_.find(name); found != sas_.end()) return found->second;
      const std::size_t slash = above.rfind('/');
      if (slash == std::string::npos || above.substr(0, slash).ends_with(":/")) break;
      above.resize(slash);
    }
  }
  return checked_sas(variable("AZURE_STORAGE_SAS_TOKEN").value_or(""));
}

HttpRequest AzureRequests::request(HttpMethod method, const std::string& address, bool of_container, const Query& query,
                                   std::span<const std::byte> body) {
  const AzureAddress parts = of_container ? azure_address(address) : blob_address(address);
  const auto own = variable("AZURE_STORAGE_ENDPOINT");
  const EndpointUrl endpoint = endpoint_url(own.value_or("https://" + parts.account + ".blob.core.windows.net"),
                                            own ? "AZURE_STORAGE_ENDPOINT" : "the account's address");
  std::string url = endpoint.origin + endpoint.path + "/" + percent_encoded(parts.container);
  if (!of_container) url += "/" + percent_encoded_path(parts.blob);
  std::string text = canonical_query(query);
  if (const std::string sas = sas_of(address); !sas.empty()) text += (text.empty() ? "" : "&") + sas;
  if (!text.empty()) url += "?" + text;
  return {.method = method, .url = std::move(url), .headers = {kAzureVersion}, .body = body};
}

HttpRequest AzureRequests::find(const std::string& address) {
  return request(HttpMethod::head, address, false);
}

HttpRequest AzureRequests::read_whole(const std::string& address) {
  return request(HttpMethod::get, address, false);
}

HttpRequest AzureRequests::read_range(const StoredObject& object, std::uint64_t offset, std::uint64_t length) {
  HttpRequest asked = request(HttpMethod::get, object.address, false);
  asked.headers.push_back("Range: bytes=" + std::to_string(offset) + "-" + std::to_string(offset + length - 1));
  if (is_strong_etag(object.state().version)) asked.headers.push_back("If-Match: " + object.state().version);
  return asked;
}

Meaning AzureRequests::meaning(const HttpResponse& response) const {
  const std::string code = response.status >= 400 ? azure_code(response) : "";
  if (response.status == 401) return Meaning::refused;  // there is nothing that could be renewed
  if (response.status == 404)
    return code == "ContainerNotFound" || code == "ResourceNotFound" ? Meaning::refused : Meaning::absent;
  if (response.status == 409) return code == "BlobAlreadyExists" ? Meaning::exists : Meaning::refused;
  return Dialect::meaning(response);
}

std::vector<std::string> AzureRequests::secrets() const {
  std::vector<std::string> all = secrets_of_query(variable("AZURE_STORAGE_SAS_TOKEN").value_or(""));
  const std::lock_guard lock(mutex_);
  for (const auto& [address, sas] : sas_) {
    for (std::string& value : secrets_of_query(sas)) all.push_back(std::move(value));
  }
  return all;
}

std::string AzureRequests::access(const std::string& address) {
  return sas_of(address).empty() ? "sent without a SAS" : "sent with a SAS";
}

std::string AzureRequests::reason(const HttpResponse& response) const {
  const StoreError error = store_error(response.body);
  std::string text = azure_code(response);
  // Messages about signatures repeat the signed text, so they are not shown.
  if (!error.message.empty() && text != "AuthenticationFailed") text += (text.empty() ? "" : ": ") + error.message;
  if (response.status == 401 || response.status == 403 || response.status == 409) {
    const bool allowed = variable("AZURE_STORAGE_SAS_TOKEN").has_value();
    text += std::string(text.empty() ? "" : "; ") +
            (allowed ? "sent with AZURE_STORAGE_SAS_TOKEN" : "AZURE_STORAGE_SAS_TOKEN is not set");
  }
  return text;
}

}  // namespace penstock
