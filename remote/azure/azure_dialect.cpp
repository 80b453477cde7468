#include <memory>
#include <string>
#include <vector>

#include <remote/azure/azure_address.hpp>
#include <remote/azure/azure_blocks.hpp>
#include <remote/azure/azure_dialect.hpp>
#include <remote/azure/azure_listing.hpp>
#include <remote/writes/part_upload.hpp>

namespace penstock {

std::vector<ListedObject> AzureDialect::list(Transport& transport, const std::string& folder) {
  return list_container(*this, transport, folder, azure_address(folder).blob);
}

std::unique_ptr<ObjectUpload> AzureDialect::upload(Transport& transport, const std::string& address, bool if_absent) {
  find(address);  // throws where it names no blob
  return std::make_unique<PartUpload>(std::make_unique<AzureBlocks>(*this, transport, address, if_absent));
}

void AzureDialect::remove(Transport& transport, const std::string& address) {
  const HttpResponse answer = transport.send(
      {.dialect = *this, .address = address, .prepare = [&] { return request(HttpMethod::remove, address, false); }});
  const Meaning what = meaning(answer);
  if (what != Meaning::done && what != Meaning::absent) throw refusal(*this, address, answer);
}

}  // namespace penstock
