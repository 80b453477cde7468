#include <algorithm>

#include <formats/places/address.hpp>
#include <penstock/error.hpp>
#include <remote/azure/azure_address.hpp>
#include <remote/text/surroundings.hpp>

namespace penstock {
namespace {

bool is_azure_name(std::string_view name, std::string_view also) {
  return name.size() >= 1 && name.size() <= 63 && std::ranges::all_of(name, [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || also.find(c) != std::string_view::npos;
         });
}

std::string_view taken_to_slash(std::string_view& rest) {
  const std::size_t slash = rest.find('/');
  const std::string_view taken = rest.substr(0, slash);
  rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  return taken;
}

}  // namespace

bool is_azure_address(std::string_view address) {
  return address.starts_with("az://") || address.starts_with("abfs://") || address.starts_with("abfss://");
}

AzureAddress azure_address(const std::string& address) {
  const std::string shown = address.substr(0, address.find('?'));
  std::string_view rest = std::string_view(shown).substr(std::min(shown.size(), shown.find("://") + 3));
  const std::string_view first = taken_to_slash(rest);
  AzureAddress parts;
  const std::size_t at = first.find('@');
  if (at != std::string_view::npos) {
    parts.container = first.substr(0, at);
    // The account is the part before the first dot. The rest names a service and the cloud, of which only one is
    // supported.
    parts.account = first.substr(at + 1, first.find('.', at) - at - 1);
  } else if (const auto account = variable("AZURE_STORAGE_ACCOUNT"); account && *account != first) {
    parts.account = *account;
    parts.container = first;
  } else if (!account && variable("AZURE_STORAGE_ENDPOINT")) {
    parts.container = first;
  } else {
    parts.account = first;
    parts.container = taken_to_slash(rest);
  }
  parts.blob = rest;
  while (parts.blob.ends_with('/')) parts.blob.pop_back();
  if (!is_azure_name(parts.container, "-$") || (!parts.account.empty() && !is_azure_name(parts.account, "-")))
    throw Error::invalid_argument(
        "names no container; expected az://CONTAINER@ACCOUNT/BLOB, or az://CONTAINER/BLOB with AZURE_STORAGE_ACCOUNT",
        {.dataset = shown_place(address)});
  return parts;
}

}  // namespace penstock
