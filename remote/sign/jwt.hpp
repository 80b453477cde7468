// The signed claim that a Google service account exchanges for a token.
#pragma once

#include <chrono>
#include <string>

namespace penstock {

/// Makes a JSON Web Token (RFC 7519), RS256. Source: Google, "Using OAuth 2.0 for Server to Server Applications".
/// Throws Error: invalid_argument, if the key is invalid.
std::string service_account_claim(const std::string& email, const std::string& key_id, const std::string& pem_key,
                                  const std::string& scope, const std::string& audience,
                                  std::chrono::system_clock::time_point when);

}  // namespace penstock
