// Names of any bytes made fit for keys, messages and lists.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// True for UTF-8 without control characters (RFC 3629: shortest forms, no surrogates).
bool is_printable(std::string_view text);

/// Two lower-case digits per byte.
std::string hexadecimal(std::string_view bytes);

}  // namespace penstock
