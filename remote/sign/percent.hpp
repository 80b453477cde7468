// Percent-encoding of keys and queries, as stores use it when they verify signatures.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

/// Encodes all characters except RFC 3986's unreserved ones (letters, digits, "-._~") as %XX with capital digits, UTF-8
/// byte by byte. Source: AWS, "Create a signed AWS API request", UriEncode().
std::string percent_encoded(std::string_view text);
/// Encodes the path of a key: slashes stay. Does not resolve the path: "a//../b" names another object than "b".
std::string percent_encoded_path(std::string_view key);

using Query = std::vector<std::pair<std::string, std::string>>;  ///< names and values, not encoded

/// Returns "a=1&b=%20": encoded, and sorted by encoded name, then value. The query is signed and sent in this order.
std::string canonical_query(const Query& query);

/// Returns true if "%2F" or another escape begins at `at`.
bool is_percent_escape(std::string_view text, std::size_t at);

/// Decodes "a%2Fb" to "a/b". Invalid escapes stay.
std::string percent_decoded(std::string_view text);

}  // namespace penstock
