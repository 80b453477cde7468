// Azure Blob Storage: reads, lists, writes and removes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <formats/places/object_store.hpp>
#include <remote/azure/azure_requests.hpp>
#include <remote/http/transport.hpp>
#include <remote/text/listing.hpp>

namespace penstock {

/// Parses one page of an answer to List Blobs. `prefix` is the requested prefix, with its slash. Throws Error: corrupt.
ListedPage parse_azure_page(const std::string& body, const std::string& prefix);

/// Returns all pages, sorted by name. Throws Error: io, corrupt, naming `address`, which is the address of `folder`.
std::vector<ListedObject> list_container(AzureRequests& dialect, Transport& transport, const std::string& address,
                                         const std::string& folder);

class AzureDialect : public AzureRequests {
 public:
  using AzureRequests::AzureRequests;

  std::vector<ListedObject> list(Transport& transport, const std::string& folder) override;
  std::unique_ptr<ObjectUpload> upload(Transport& transport, const std::string& address, bool if_absent) override;
  void remove(Transport& transport, const std::string& address) override;
};

}  // namespace penstock
