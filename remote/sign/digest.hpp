// Digests as requests are signed with, from OpenSSL's libcrypto. All of them give raw bytes.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);
std::string md5(std::string_view bytes);  ///< empty where the system's policy has none (FIPS)

std::string base64(std::string_view bytes);
/// The alphabet of RFC 4648 section 5, without padding.
std::string base64_url(std::string_view bytes);

/// RSA with SHA-256 (RFC 7518, RS256) by a PEM private key. Throws Error: invalid_argument, which tells nothing of the
/// key.
std::string rs256(std::string_view pem_key, std::string_view bytes);

}  // namespace penstock
