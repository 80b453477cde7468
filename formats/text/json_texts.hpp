// Writes several strings of one sample as a JSON list, the form in which penstock reads them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

/// Returns the string in JSON, with its quotes. Returns nothing unless the string is UTF-8 (RFC 3629), because JSON
/// cannot hold other bytes.
std::optional<std::string> json_text(std::string_view text);

/// Joins values in JSON to a list.
std::string json_list(std::span<const std::string> values);

/// The reason why strings of a field are not read: one of several, `text`, is not UTF-8.
std::string not_utf8(std::string_view text);

}  // namespace penstock
