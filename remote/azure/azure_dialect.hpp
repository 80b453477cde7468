// Azure's blobs: reading, listing, writing, removing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <remote/azure/azure_requests.hpp>

namespace penstock {

class AzureDialect : public AzureRequests {
 public:
  using AzureRequests::AzureRequests;

  std::vector<ListedObject> list(Transport& transport, const std::string& folder) override;
  std::unique_ptr<ObjectUpload> upload(Transport& transport, const std::string& address, bool if_absent) override;
  void remove(Transport& transport, const std::string& address) override;
};

}  // namespace penstock
