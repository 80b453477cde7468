// The errors that stores of the S3 kind answer with.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// All empty: the body says nothing.
struct StoreError {
  std::string code;     ///< "AccessDenied"
  std::string message;  ///< without what may hold a secret
  std::string region;   ///< that would be the right one
};

/// Of a body of XML; never throws for what the body is.
StoreError store_error(std::string_view body);

/// Credentials that would have been good once.
bool tells_of_expired_keys(const StoreError& error);

}  // namespace penstock
