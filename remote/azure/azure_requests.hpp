// Requests to Azure Blob Storage. Source: Azure, "Blob service REST API", version 2021-12-02.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <remote/http/dialect.hpp>
#include <remote/sign/percent.hpp>

namespace penstock {

/// A shared access signature (SAS) after "?" of an address applies to that address and those below it. Otherwise
/// AZURE_STORAGE_SAS_TOKEN is used; without it requests are anonymous. AZURE_STORAGE_ENDPOINT
/// ("http://127.0.0.1:10000/devstoreaccount1") replaces the endpoint of the account.
class AzureRequests : public Dialect {
 public:
  bool speaks(std::string_view address) const override;
  std::string admit(const std::string& address) override;

  HttpRequest find(const std::string& address) override;
  HttpRequest read_whole(const std::string& address) override;
  HttpRequest read_range(const StoredObject& object, std::uint64_t offset, std::uint64_t length) override;

  Meaning meaning(const HttpResponse& response) const override;
  std::string reason(const HttpResponse& response) const override;
  std::vector<std::string> secrets() const override;
  std::string access(const std::string& address) override;

  /// Makes a request for a blob, or for its container if `of_container`.
  HttpRequest request(HttpMethod method, const std::string& address, bool of_container, const Query& query = {},
                      std::span<const std::byte> body = {});

 private:
  std::string sas_of(const std::string& address);

  mutable std::mutex mutex_;                // guards the members below
  std::map<std::string, std::string> sas_;  // by address
};

}  // namespace penstock
