// Addresses of Azure blobs.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

struct AzureAddress {
  std::string account;  ///< empty: only AZURE_STORAGE_ENDPOINT names the place
  std::string container;
  std::string blob;  ///< without a trailing slash if it names a folder
};

/// Returns true for az://, abfs:// and abfss://.
bool is_azure_address(std::string_view address);

/// Parses "az://container@account/blob" and "abfss://container@account.dfs.core.windows.net/blob". Without an account
/// in the address: "az://container/blob" if AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_ENDPOINT is set, otherwise
/// "az://account/container/blob". Drops the query after "?". Throws Error: invalid_argument.
AzureAddress azure_address(const std::string& address);

}  // namespace penstock
