#include <algorithm>
#include <cctype>

#include <base/printable.hpp>
#include <formats/rows/table.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::optional<std::size_t> column_among(const std::vector<std::string>& columns,
                                        std::span<const std::string_view> known) {
  for (const std::string_view name : known) {
    const auto found = std::ranges::find(columns, name, in_lower_case);
    if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  }
  return std::nullopt;
}

std::size_t column_named(const std::vector<std::string>& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end())
    throw Error::invalid_argument("has no column " + double_quoted(name) + "; it has " + joined_text(columns, ", "));
  return static_cast<std::size_t>(found - columns.begin());
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

}  // namespace penstock
