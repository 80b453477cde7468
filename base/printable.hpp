// Makes names with arbitrary bytes fit for keys, messages and lists.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace penstock {

/// Returns true for UTF-8 without control characters (RFC 3629: shortest forms, no surrogates).
bool is_printable(std::string_view text);

/// Replaces each byte that is not part of a printable character with a backslash, an x and two digits.
std::string one_line(std::string_view text);

/// The same, in double quotes, as messages show names.
std::string double_quoted(std::string_view text);
/// Returns two lower-case digits per byte.
std::string hexadecimal(std::string_view bytes);

std::string with_commas(std::uint64_t number);  ///< "1,204"

/// Joins the entries of a list: joined_text(fields, ", ", &FieldSchema::name).
template <typename List, typename Text = std::identity>
std::string joined_text(const List& list, std::string_view between, const Text& text_of = {}) {
  std::string all;
  for (const auto& entry : list) {
    if (!all.empty()) all += between;
    all += std::invoke(text_of, entry);
  }
  return all;
}

}  // namespace penstock
