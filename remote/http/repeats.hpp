// Whether what a server says repeats a secret that it was asked with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Whether one of them stands in the text: as it is, escaped as in a URL ("%2F"), or as in XML ("&amp;").
bool repeats(std::string_view text, std::span<const std::string> secrets);

/// The values of a query ("sig=a%2Fb&sv=1"), as they are and unescaped; those of fewer than six bytes are no secrets.
std::vector<std::string> secrets_of_query(std::string_view query);

}  // namespace penstock
