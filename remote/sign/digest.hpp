// Digests for signing requests, from OpenSSL's libcrypto. All of them return raw bytes.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);
std::string md5(std::string_view bytes);  ///< empty if the system's policy forbids MD5 (FIPS)

std::string base64(std::string_view bytes);
/// Uses the alphabet of RFC 4648, section 5, without padding.
std::string base64_url(std::string_view bytes);

/// Signs with RSA and SHA-256 (RFC 7518, RS256). The private key is in PEM form. Throws Error: invalid_argument; the
/// message contains nothing of the key.
std::string rs256(std::string_view pem_key, std::string_view bytes);

}  // namespace penstock
