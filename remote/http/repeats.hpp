// Checks whether a server's message repeats a secret from the request.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Returns true if the text contains one of them: as it is, percent-encoded ("%2F"), or escaped as in XML ("&amp;").
bool repeats(std::string_view text, std::span<const std::string> secrets);

/// Returns the values of a query ("sig=a%2Fb&sv=1"), encoded and decoded. Values of fewer than six bytes are not
/// secrets.
std::vector<std::string> secrets_of_query(std::string_view query);

}  // namespace penstock
