#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>

#include <base/printable.hpp>
#include <formats/rows/forms.hpp>
#include <formats/rows/json_rows.hpp>
#include <formats/text/json_depth.hpp>
#include <penstock/error.hpp>

namespace penstock {

RowTable json_table(std::string_view text) {
  require_shallow_json(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  // The ordered type looks members up one by one, which is slow in an object of all samples.
  if (first != std::string_view::npos && text[first] == '{') {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const bool lines = json.is_discarded() && nlohmann::json::accept(text.substr(0, text.find('\n')));
    return lines ? json_lines_table(text) : table_of(json);
  }
  return table_of(nlohmann::ordered_json::parse(text, nullptr, false));
}

RowTable json_lines_table(std::string_view text) {
  RowsOfObjects rows("line ");
  std::uint64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_blanks(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    require_shallow_json(line);
    const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
    if (json.is_discarded()) throw Error::corrupt("line " + std::to_string(number) + " is not JSON");
    rows.add(number, json);
  }
  return std::move(rows).finish();
}

}  // namespace penstock
