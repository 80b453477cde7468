// Addresses of blobs.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

struct AzureAddress {
  std::string account;  ///< empty: AZURE_STORAGE_ENDPOINT alone says where
  std::string container;
  std::string blob;  ///< of a folder without a slash at its end
};

/// az:// alone, or abfs:// or abfss://.
bool is_azure_address(std::string_view address);

/// "az://container@account/blob" and "abfss://container@account.dfs.core.windows.net/blob"; "az://container/blob" with
/// AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_ENDPOINT, else "az://account/container/blob". What stands behind "?" is left
/// out. Throws Error: invalid_argument.
AzureAddress azure_address(const std::string& address);

}  // namespace penstock
