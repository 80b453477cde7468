// What lies in a folder of a container.
#pragma once

#include <string>
#include <vector>

#include <formats/places/object_store.hpp>
#include <remote/azure/azure_requests.hpp>
#include <remote/http/transport.hpp>
#include <remote/text/listing.hpp>

namespace penstock {

/// One page of an answer to List Blobs. `prefix` is what was asked for, with its slash. Throws Error: corrupt.
ListedPage parse_azure_page(const std::string& body, const std::string& prefix);

/// All pages, in order of names. Throws Error: io, corrupt, naming `address`, which names the folder `folder`.
std::vector<ListedObject> list_container(AzureRequests& dialect, Transport& transport, const std::string& address,
                                         const std::string& folder);

}  // namespace penstock
