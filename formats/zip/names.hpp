// Decodes the names of a zip archive's entries.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// Decodes a name without the UTF-8 flag. Source: PKWARE APPNOTE 6.3.10, appendix D.
std::string utf8_from_cp437(std::string_view name);

/// Returns true for names with a leading dot, at any level, and for additions by macOS ("__MACOSX/").
bool is_hidden_in_archive(std::string_view path);

/// "./a/b" and "/a/b" -> "a/b"
std::string_view without_leading_dots(std::string_view path);

}  // namespace penstock
