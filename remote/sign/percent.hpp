// Percent-encoding of keys and queries, as stores that check signatures count it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

/// Everything but RFC 3986's unreserved characters (letters, digits, "-._~") becomes %XX with capital digits, UTF-8
/// byte by byte. AWS, "Create a signed AWS API request", UriEncode().
std::string percent_encoded(std::string_view text);
/// The same, and slashes stay: the path of a key. Nothing is joined or resolved: "a//../b" names another object than
/// "b".
std::string percent_encoded_path(std::string_view key);

using Query = std::vector<std::pair<std::string, std::string>>;  ///< names and values, not encoded

/// "a=1&b=%20": encoded, and sorted by encoded name, then value, as signatures count it; sent in that order too.
std::string canonical_query(const Query& query);

/// Whether "%2F" or the like begins there.
bool is_percent_escape(std::string_view text, std::size_t at);

/// "a/b" of "a%2Fb"; what is no escape stays.
std::string percent_decoded(std::string_view text);

}  // namespace penstock
