// Texts of the JSON library's exceptions for messages.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace penstock {

/// Returns the text of an exception of nlohmann::json without the library's own name of it, as in
/// "[json.exception.parse_error.101] parse error at line 1".
inline std::string json_cause(const std::exception& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.starts_with("[json.exception") ? text.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

}  // namespace penstock
