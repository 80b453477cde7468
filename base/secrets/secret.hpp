// Proves the knowledge of a secret without sending it.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// Returns the SHA-256 of the bytes, 32 bytes. Source: FIPS 180-4, section 6.2.
std::string sha256_of(std::string_view bytes);
/// Returns the HMAC-SHA-256 of the bytes, 32 bytes. Source: RFC 2104.
std::string hmac_of(std::string_view key, std::string_view bytes);
/// Compares without a hint at the first difference: its time depends on the lengths only.
bool same_secret(std::string_view one, std::string_view other);
/// Returns random bytes of the system. Throws Error: resource.
std::string random_bytes(std::size_t count);

}  // namespace penstock
