// Errors in the answers of S3-compatible stores.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// All members are empty if the body contains no error.
struct StoreError {
  std::string code;     ///< "AccessDenied"
  std::string message;  ///< without text that may contain a secret
  std::string region;   ///< the correct region
};

/// Parses an XML body. Invalid bodies do not cause exceptions.
StoreError store_error(std::string_view body);

/// Returns true if the credentials were valid earlier.
bool tells_of_expired_keys(const StoreError& error);

}  // namespace penstock
