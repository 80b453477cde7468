// The byte order mark that editors, mainly on Windows, write before UTF-8 text.
#pragma once

#include <string_view>

namespace penstock {

inline std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace penstock
